import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { placeholderOf, withLinks } from "../../objects/call/placeholder.ts";
import type { AnswerInBucket } from "../../objects/task/answer-reply.ts";
import { bytesOf } from "../../security/encoding.ts";
import { eventsToClient } from "../http/client-stream.ts";
import { outputGone } from "./output-gone.ts";
import { copyOf, redirectTo } from "./serve-output.ts";

/** Largest number of digits in the number of a file. */
const MAX_DIGITS = 9;
/** Pattern of the types of answers that are sent themselves also where they are an output: JSON and text. */
const TEXT = /^text\/|[/+]json\b/i;

/**
 * Sends an answer of the upstream that lies in the bucket, with links in place of the files that were in it. An answer
 * that is itself an output, and is no text, is a redirect to the link of the output.
 * @throws Problem `output_gone` when the answer has expired or is deleted; `unavailable` when the bucket fails.
 */
export async function serveAnswer(
  taskId: string,
  { number, contentType, status, recordedAt, token, urls, expiresAt, isDeleted }: AnswerInBucket,
  env: Env,
): Promise<Response> {
  if (Date.now() >= expiresAt) throw outputGone("link_expired");
  if (isDeleted) throw outputGone("deleted");
  const [link = ""] = urls;
  if (number === 1 && !TEXT.test(contentType ?? "")) return redirectTo(link);
  const expiresAtS = expiresAt / SECOND_MS;
  const stored = { taskId, number, recordedAt, expiresAtS, extension: "" };
  const copy = await copyOf({ method: "GET", headers: new Headers() }, stored, env);
  if (copy === null || copy.body === null) throw outputGone("not_stored");
  const headers: HeadersInit = contentType === null ? {} : { "Content-Type": contentType };
  if (number === 1) return new Response(copy.body, { status, headers });
  const pieces = linkedPieces(copy.body, token, urls);
  return new Response(
    eventsToClient(pieces, () => undefined),
    { status, headers },
  );
}

/** Yields the bytes of JSON in which links replace the placeholders, without holding all of it in memory. */
async function* linkedPieces(
  json: ReadableStream<Uint8Array>,
  token: string,
  links: readonly string[],
): AsyncGenerator<Uint8Array, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of json) {
    text += decoder.decode(piece, { stream: true });
    const end = endOfWhole(text, token);
    if (end > 0) yield bytesOf(withLinks(text.slice(0, end), token, links));
    text = text.slice(end);
  }
  yield bytesOf(withLinks(text + decoder.decode(), token, links));
}

/** Returns the place in a text at which a placeholder begins that may go on behind the text; otherwise its length. */
function endOfWhole(text: string, token: string): number {
  const start = placeholderOf(token, 0).slice(0, -1);
  const first = text.length - start.length - MAX_DIGITS;
  for (let at = Math.max(0, first); at < text.length; at++) {
    const tail = text.slice(at);
    const isBegun = tail.startsWith(start) && /^\d*$/.test(tail.slice(start.length));
    if (isBegun || start.startsWith(tail)) return at;
  }
  return text.length;
}
