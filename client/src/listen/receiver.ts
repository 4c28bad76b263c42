import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Callback } from "./messages.ts";

/** Reason why the receiver gave no answer, as the relay names it. */
type Cause = "refused" | "dns" | "tls" | "other";

/** Answer of the receiver, or the reason why it gave none. */
export type Answer =
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | { readonly cause: Cause };

/** Largest number of bytes that are read of the body of an answer; the relay stores fewer. */
const MAX_BYTES = 4096;
const MAX_HEADER_CHARS = 512;
/** Longest wait for the body of an answer in milliseconds, so that the relay learns the status in time. */
const LONGEST_BODY_MS = 1000;
/** Names of the headers of an answer that are passed on to the relay. */
const KEPT = ["content-type", "retry-after", "location"];
const CAUSES: readonly (readonly [RegExp, Cause])[] = [
  [/ECONNREFUSED/, "refused"],
  [/ENOTFOUND|EAI_AGAIN/, "dns"],
  [/CERT|TLS|SSL|VERIFY|EPROTO/, "tls"],
];

/**
 * Sends a callback to the receiver with exactly its headers and its body, and follows no redirect. Uses no
 * `fetch`, which would add headers of its own.
 */
export async function passOn(to: URL, callback: Callback): Promise<Answer> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), callback.timeout_ms);
  try {
    const response = await sent(to, callback, stop.signal);
    return await answerOf(response, Math.min(LONGEST_BODY_MS, callback.timeout_ms / 4));
  } catch (error) {
    return { cause: causeOf(error) };
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

function sent(to: URL, { headers, body }: Callback, signal: AbortSignal): Promise<IncomingMessage> {
  const send = to.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(to, { method: "POST", headers, agent: false, signal });
    request.on("response", resolve).on("error", reject).end(body);
  });
}

async function answerOf(response: IncomingMessage, bodyMs: number): Promise<Answer> {
  const { statusCode: status = 0 } = response;
  if (status < 200 || status > 599) return { cause: "other" };
  const headers = KEPT.flatMap((name) => {
    const value = response.headers[name];
    const isKept = typeof value === "string" && /^[ -~]*$/.test(value);
    return isKept ? [[name, value.slice(0, MAX_HEADER_CHARS)] as const] : [];
  });
  return { status, headers: Object.fromEntries(headers), body: await startOf(response, bodyMs) };
}

/**
 * Reads the first bytes of a body. When the body breaks off or takes too long, returns the part that has arrived,
 * because the status alone decides the outcome.
 */
async function startOf(response: IncomingMessage, withinMs: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  const timer = setTimeout(() => response.destroy(), withinMs);
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_BYTES) break;
    }
  } catch {
    // The part that arrived before the time was over is returned.
  } finally {
    clearTimeout(timer);
  }
  const bytes = Buffer.concat(chunks).subarray(0, MAX_BYTES);
  return new TextDecoder().decode(bytes, { stream: true });
}

/**
 * Derives the cause from the code of an error. An error about a host name with several addresses contains an error
 * for each of them.
 */
function causeOf(error: unknown): Cause {
  const errors = error instanceof AggregateError ? error.errors : [error];
  const codes = errors.map((each) => (each instanceof Error && "code" in each ? each.code : ""));
  return CAUSES.find(([pattern]) => pattern.test(codes.join(" ")))?.[1] ?? "other";
}
