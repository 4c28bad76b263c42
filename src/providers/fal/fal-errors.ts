import type { UpstreamError } from "../failure.ts";
import { at, textAt } from "../json-fields.ts";
import type { Answer } from "../provider-answer.ts";

/**
 * HTTP statuses that mean that fal has refused a request. The error type in such an answer says nothing about the job.
 */
const REFUSED: readonly (number | null)[] = [401, 403, 429];
/**
 * Pattern of fal's error types that mean a fault of fal's servers and not of the input, whatever the HTTP status of the
 * answer is.
 */
const OF_SERVERS = /server|timeout|downstream|unavailable|internal|runner/;

/**
 * An answer or a hook of fal that contains the error of a job. For a hook, the headers are missing, and the HTTP status
 * is stated only in words; the status is null when it is not known.
 */
type FailedAnswer = Pick<Answer, "headers" | "body"> & { readonly status: number | null };

/**
 * Returns the error in an answer of fal. It is either a list of faults in the input
 * (https://docs.fal.ai/model-apis/errors), or one text with an error type, in the body or in a header
 * (https://docs.fal.ai/documentation/model-apis/request-errors).
 */
export function errorOf(answer: FailedAnswer): UpstreamError | null {
  return listedError(answer) ?? typedError(answer);
}

function listedError({ status, body }: FailedAnswer): UpstreamError | null {
  const detail = at(body, "detail");
  if (!Array.isArray(detail) || detail.length === 0) return null;
  const texts = detail.flatMap((item) => textAt(item, "msg") ?? []);
  const types = detail.flatMap((item) => textAt(item, "type") ?? []);
  const error = { code: types[0] ?? null, text: texts.join("; ") || null };
  if (types.includes("content_policy_violation")) return { ...error, category: "moderation" };
  const isOfServer = (status ?? 0) >= 500 || types.some((type) => OF_SERVERS.test(type));
  return isOfServer ? error : { ...error, usualCategory: "invalid_input" };
}

function typedError({ status, headers, body }: FailedAnswer): UpstreamError | null {
  const code = textAt(body, "error_type") ?? (headers.get("X-Fal-Error-Type") || null);
  if (code === null || REFUSED.includes(status)) return null;
  return { code, text: textAt(body, "detail") ?? textAt(body, "error") };
}

/**
 * Returns an error together with what fal states in a header about whether a retry helps (an older name of the header
 * is `X-Fal-Needs-Retry`). Returns the same error when there is no such header.
 */
export function withRetryWord(error: UpstreamError, headers: Headers): UpstreamError {
  const word = headers.get("X-Fal-Retryable") ?? headers.get("X-Fal-Needs-Retry") ?? "";
  if (/^(?:true|1|yes)$/i.test(word)) return { ...error, isRetryable: true };
  return /^(?:false|0|no)$/i.test(word) ? { ...error, isRetryable: false } : error;
}

/**
 * Returns the error of a job from its text, e.g. `Invalid status code: 502`, and from its code if it has one. A text
 * that ends with a status from 500 to 599 means a fault of the provider. Without this rule the word "invalid" would
 * make it a fault of the input.
 */
export function statusError(text: string | null, code: string | null = null): UpstreamError {
  const isServerError = code === null && (statusIn(text) ?? 0) >= 500;
  return isServerError ? { code, text, category: "provider" } : { code, text };
}

/** Returns the HTTP status from 400 to 599 at the end of a text. Null when there is none. */
export function statusIn(text: string | null): number | null {
  const status = /\b[45]\d\d$/.exec(text ?? "")?.[0];
  return status === undefined ? null : Number(status);
}

/**
 * Returns an error whose text is replaced by `text`, in which an app of fal explains the failure. If the error has no
 * code, its former text becomes the code, e.g. `Invalid status code: 422`. Returns the same error when `text` is null.
 */
export function explained(error: UpstreamError, text: string | null): UpstreamError {
  return text === null ? error : { ...error, code: error.code ?? error.text, text };
}
