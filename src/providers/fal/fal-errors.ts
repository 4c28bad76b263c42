import type { UpstreamError } from "../failure.ts";
import { at, textAt } from "../json-fields.ts";

/**
 * Returns the error in an answer of fal: a list of faults in the input (https://docs.fal.ai/model-apis/errors), or
 * one text with an error type (https://docs.fal.ai/documentation/model-apis/request-errors).
 */
export function errorOf(body: unknown): UpstreamError | null {
  const errorType = textAt(body, "error_type");
  if (errorType !== null) return { code: errorType, text: textAt(body, "detail") };
  const detail = at(body, "detail");
  if (!Array.isArray(detail) || detail.length === 0) return null;
  const texts = detail.flatMap((item) => textAt(item, "msg") ?? []);
  const types = detail.flatMap((item) => textAt(item, "type") ?? []);
  const error = { code: types[0] ?? null, text: texts.join("; ") || null };
  if (types.includes("content_policy_violation")) return { ...error, category: "moderation" };
  const isServerError = types.some((type) => /server_error|timeout|downstream/.test(type));
  return isServerError ? error : { ...error, usualCategory: "invalid_input" };
}

/**
 * Returns the error of a job from its text, e.g. `Invalid status code: 502`. A text that ends with a status from
 * 500 to 599 is a fault of the provider. Without this rule the word "invalid" would make it a fault of the input.
 */
export function statusError(text: string | null, code: string | null = null): UpstreamError {
  const isServerError = /\b5\d\d$/.test(text ?? "");
  return isServerError ? { code, text, category: "provider" } : { code, text };
}

/**
 * Returns an error with its text replaced by the one in which an app of fal explains the failure. If the error has
 * no code, its former text becomes the code, e.g. `Invalid status code: 422`. Returns the same error when `text` is
 * null.
 */
export function explained(error: UpstreamError, text: string | null): UpstreamError {
  return text === null ? error : { ...error, code: error.code ?? error.text, text };
}
