// Outgoing HTTP requests. This is the only file that may call `fetch`; lint enforces it.

import { type AttemptResult, unansweredAttempt } from "../core/record/callback.ts";
import { parseJson } from "../core/json.ts";
import { cloudflareErrorOf, outcomeOfAnswer } from "../core/record/outcome.ts";
import { log } from "../log.ts";
import type { Answer } from "../providers/provider.ts";
import { readUpTo } from "../stream.ts";
import { isDeadlinePassed, withDeadline } from "../timeout.ts";

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answer of a provider to a GET, together with its `Retry-After` header. */
export interface GetAnswer extends Answer {
  readonly retryAfter: string | null;
}

const MAX_RESPONSE_READ_BYTES = 4096;
const MAX_EXCERPT_BYTES = 1024;
/** Largest answer of a provider that is read. Providers echo the input, which may hold whole images. */
const MAX_ANSWER_BYTES = 8_388_608;
const MAX_RETRY_AFTER_CHARS = 64;

/**
 * Sends one POST without following redirects, under one deadline that includes reading the answer. Never
 * throws: a failure of the receiver is a result. The status line decides the outcome, except where
 * Cloudflare answered in place of the receiver; only an excerpt of the body is kept.
 */
export function post(
  request: PostRequest,
  timeoutMs: number,
  aborted: AbortSignal | null = null,
): Promise<AttemptResult> {
  return withDeadline(timeoutMs, (signal) => postOnce(request, signal), aborted);
}

/**
 * Sends one GET, usually with credentials, without following redirects.
 * @returns null when there was no answer before `signal` aborted.
 */
export async function get(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<GetAnswer | null> {
  try {
    const accepting = { Accept: "application/json", "User-Agent": "TaskRelay/1", ...headers };
    const response = await fetch(url, { headers: accepting, redirect: "manual", signal });
    const { bytes } = await readUpTo(response.body, MAX_ANSWER_BYTES);
    if (bytes.length === MAX_ANSWER_BYTES) {
      log({ event: "upstream.too_large", host: new URL(url).host }, "warn");
    }
    const body = parseJson(new TextDecoder().decode(bytes));
    return { status: response.status, body, retryAfter: response.headers.get("Retry-After") };
  } catch {
    return null;
  }
}

async function postOnce(
  { url, headers, body }: PostRequest,
  signal: AbortSignal,
): Promise<AttemptResult> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal,
    });
    const responseExcerpt = await excerptOf(response);
    const { status } = response;
    const cloudflareError = cloudflareErrorOf(status, responseExcerpt);
    const retryAfter = response.headers.get("Retry-After");
    return {
      outcome: outcomeOfAnswer(status, cloudflareError),
      statusCode: status,
      responseExcerpt,
      cloudflareError,
      retryAfter: retryAfter?.slice(0, MAX_RETRY_AFTER_CHARS) ?? null,
    };
  } catch {
    return unansweredAttempt(isDeadlinePassed(signal) ? "timeout" : "unreachable");
  }
}

async function excerptOf(response: Response): Promise<string | null> {
  // A body that breaks off changes nothing: the status line has decided the outcome.
  const { bytes } = await readUpTo(response.body, MAX_RESPONSE_READ_BYTES);
  const text = new TextDecoder().decode(bytes.subarray(0, MAX_EXCERPT_BYTES));
  return text === "" ? null : text;
}
