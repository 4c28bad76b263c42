import type { AttemptResult } from "../core/events/event.ts";
import { outcomeOfStatus } from "../core/record/outcome.ts";
import { log } from "../log.ts";
import type { CallbackRequest } from "./callback-request.ts";

const MAX_RESPONSE_READ_BYTES = 4096;
const MAX_EXCERPT_BYTES = 1024;
/** Providers echo the input, which may hold whole images. */
const MAX_ANSWER_BYTES = 8_388_608;
const MAX_RETRY_AFTER_CHARS = 64;

/**
 * One of the relay's two ways out: one POST, redirects not followed, one deadline over all of it. Whatever
 * the receiver does is a result; the status line decides it, what follows is only an excerpt.
 */
export async function post(
  request: CallbackRequest,
  timeoutMs: number,
  aborted: AbortSignal | null = null,
): Promise<AttemptResult> {
  const deadline = new AbortController();
  const signal = aborted === null ? deadline.signal : AbortSignal.any([aborted, deadline.signal]);
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    const response = await fetch(request.url, {
      method: "POST",
      headers: request.headers,
      body: request.body,
      redirect: "manual",
      signal,
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

/** What a provider answered. */
export interface Received {
  readonly status: number;
  /** Parsed JSON; undefined: it was none, or too long. */
  readonly body: unknown;
  readonly retryAfter: string | null;
}

/** One GET with credentials, redirects not followed; null: it was not answered before `signal` ended it. */
export async function get(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Received | null> {
  try {
    const accepting = { Accept: "application/json", "User-Agent": "TaskRelay/1", ...headers };
    const response = await fetch(url, { headers: accepting, redirect: "manual", signal });
    const bytes = await firstBytes(response, MAX_ANSWER_BYTES);
    if (bytes.length === MAX_ANSWER_BYTES)
      log({ event: "upstream.too_large", host: new URL(url).host });
    const retryAfter = response.headers.get("Retry-After");
    return { status: response.status, body: jsonOf(bytes), retryAfter };
  } catch {
    return null;
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

async function excerptOf(response: Response): Promise<string | null> {
  const bytes = await firstBytes(response, MAX_RESPONSE_READ_BYTES);
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXCERPT_BYTES));
  return text === "" ? null : text;
}

async function firstBytes(response: Response, max: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk.subarray(0, max - length));
      length += chunk.length;
      if (length >= max) break;
    }
  } catch {
    // The deadline or the receiver ended the body; the status line has been said.
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
