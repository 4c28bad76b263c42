import type { UnreadReason } from "../../core/record/unread-answer.ts";

/** Error that ends the reading of an answer. */
export class AnswerFault extends Error {
  readonly reason: UnreadReason;

  constructor(reason: UnreadReason) {
    super(`an answer cannot be read: ${reason}`);
    this.reason = reason;
  }
}
