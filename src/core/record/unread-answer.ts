import type { RefusedEnd } from "./refusal.ts";
import { SUBMIT_UNKNOWN_CODE } from "./submission.ts";

/**
 * Reasons why the answer to a call cannot be read:
 * - `broken`: it is empty, or not what its type says, e.g. JSON or base64 that is cut short, or an error page.
 * - `too_large`: the answer, its text or a file in it is above the limit.
 * - `too_many`: it contains more files than a task takes from one answer.
 * - `unreachable`: the upstream broke off, or reading was ended from outside.
 * - `not_stored`: the bucket did not take a file.
 */
export type UnreadReason = "broken" | "too_large" | "too_many" | "unreachable" | "not_stored";

/** The reasons as the ends of a sentence. */
const REASONS: Readonly<Record<UnreadReason, string>> = {
  broken: "it is not what its type says, or is cut short",
  too_large: "it is larger than the relay takes, or a file in it is",
  too_many: "it has more files than the relay takes",
  unreachable: "it broke off, or did not arrive in time",
  not_stored: "the relay could not store a file in it",
};
/** Reasons that the same call would meet again. */
const LASTING: readonly UnreadReason[] = ["too_large", "too_many"];

/**
 * Returns the error and the failure of a task whose submission has an unknown outcome.
 * @param reason why the answer could not be read; null when there was none, or one that states no outcome.
 */
export function endOfUnknown(reason: UnreadReason | null): RefusedEnd {
  const message =
    reason === null
      ? "It is not known whether the upstream has started the job."
      : `The answer of the upstream could not be read: ${REASONS[reason]}. The upstream may have billed the call.`;
  const retryable = reason === null || !LASTING.includes(reason);
  return {
    error: { code: SUBMIT_UNKNOWN_CODE, message },
    failure: { category: "timeout", retryable },
  };
}
