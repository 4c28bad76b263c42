/**
 * Reasons why an answer cannot be read:
 * - `broken`: it is empty, or not what its type says, e.g. JSON or base64 that is cut short, or an error page.
 * - `too_large`: the answer, its text or a file in it is above the limit.
 * - `too_many`: it contains more files than a task takes from one answer.
 * - `unreachable`: the upstream broke off, or reading was ended from outside.
 * - `not_stored`: the bucket did not take a file.
 */
export type AnswerFaultReason = "broken" | "too_large" | "too_many" | "unreachable" | "not_stored";

/** Error that ends the reading of an answer. */
export class AnswerFault extends Error {
  readonly reason: AnswerFaultReason;

  constructor(reason: AnswerFaultReason) {
    super(`an answer cannot be read: ${reason}`);
    this.reason = reason;
  }
}
