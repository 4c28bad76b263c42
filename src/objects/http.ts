import type { AttemptResult } from "../core/event.ts";
import { outcomeOfStatus } from "../core/outcome.ts";
import type { CallbackRequest } from "../callback/request.ts";

const MAX_RESPONSE_READ_BYTES = 4096;
const MAX_EXCERPT_BYTES = 1024;
const MAX_RETRY_AFTER_CHARS = 64;

/**
 * The relay's only way out: one POST, redirects not followed, one deadline over all of it. Whatever
 * the receiver does is a result; the status line decides it, what follows is only an excerpt.
 */
export async function post(request: CallbackRequest, timeoutMs: number): Promise<AttemptResult> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    const response = await fetch(request.url, {
      method: "POST",
      headers: request.headers,
      body: request.body,
      redirect: "manual",
      signal: deadline.signal,
    });
    const responseExcerpt = await excerptOf(response);
    const { status } = response;
    const retryAfter = response.headers.get("Retry-After");
    return {
      outcome: outcomeOfStatus(status),
      statusCode: status,
      responseExcerpt,
      ...(retryAfter !== null && { retryAfter: retryAfter.slice(0, MAX_RETRY_AFTER_CHARS) }),
    };
  } catch {
    const outcome = deadline.signal.aborted ? "timeout" : "unreachable";
    return { outcome, statusCode: null, responseExcerpt: null };
  } finally {
    clearTimeout(timer);
    // Frees the connection of a body that was not read to its end.
    deadline.abort();
  }
}

async function excerptOf(response: Response): Promise<string | null> {
  const bytes = await firstBytes(response);
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXCERPT_BYTES));
  return text === "" ? null : text;
}

async function firstBytes(response: Response): Promise<Uint8Array> {
  const read: number[] = [];
  try {
    for await (const chunk of response.body ?? []) {
      read.push(...chunk.subarray(0, MAX_RESPONSE_READ_BYTES - read.length));
      if (read.length === MAX_RESPONSE_READ_BYTES) break;
    }
  } catch {
    // The deadline or the receiver ended the body; the status line has been said.
  }
  return Uint8Array.from(read);
}
