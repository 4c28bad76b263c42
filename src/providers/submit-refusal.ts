import type { RefusalClass, RefusedEnd } from "../core/record/refusal.ts";
import { type ErrorText, failureOf, type UpstreamError } from "./failure.ts";
import { idAt, numberAt, textAt } from "./json-fields.ts";
import { reasonIn } from "./stated-reason.ts";
import type { SubmitAdapter } from "./submit.ts";

/** HTTP statuses from 400 to 499 which do not prove that the upstream has started no job. */
const DOUBTFUL_STATUSES = [408, 409, 425, 499];

/**
 * Returns the class of a refused submission by its HTTP status, for upstreams that document no other meaning: 401 for
 * the key, 402 for the balance, 429 for the rate. Null for a status which does not prove that the call has started no
 * job.
 */
export function refusalOfStatus(status: number): RefusalClass | null {
  if (status < 400 || status > 499 || DOUBTFUL_STATUSES.includes(status)) return null;
  switch (status) {
    case 401:
      return "key";
    case 402:
      return "funds";
    case 429:
      return "rate";
    default:
      return "final";
  }
}

/**
 * Returns the class of a refused submission by the member `code` of the body, which is read like an HTTP status. It is
 * for upstreams whose errors have the HTTP status 200.
 */
export function refusalByCode(status: number, body: unknown): RefusalClass | null {
  return refusalOfStatus(numberAt(body, "code") ?? 0) ?? refusalOfStatus(status);
}

/**
 * Returns the end of a task whose call the upstream will never accept, with the reason and the category that the answer
 * states, as for a job that has failed. Without a category it is a fault of the input or, for a status from 500 on, of the
 * provider. Null when the answer states no reason.
 */
export function finalRefusalEnd(
  { refusalError = usualError }: SubmitAdapter,
  status: number,
  body: unknown,
  errorText: ErrorText,
): RefusedEnd | null {
  const stated = refusalError(body);
  if (stated === null || (stated.code ?? stated.text) === null) return null;
  const usualCategory = status >= 500 ? "provider" : "invalid_input";
  const { error, failure } = failureOf("", { ...stated, usualCategory }, errorText);
  return { error, failure };
}

/** Returns the error in the usual places of an answer. */
function usualError(body: unknown): UpstreamError {
  const code = idAt(body, "error", "code") ?? idAt(body, "code") ?? textAt(body, "error", "type");
  return { code, text: reasonIn(body) };
}
