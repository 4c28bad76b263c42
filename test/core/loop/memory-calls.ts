import type { PollAnswer } from "../../../src/core/events/event.ts";
import type { Outcome } from "../../../src/core/record/outcome.ts";
import type { Delivery } from "../../../src/core/duties/deliver.ts";
import type { Poll } from "../../../src/core/duties/poll.ts";

export type Call =
  | "load"
  | "policy"
  | "send"
  | "commit"
  | "charge"
  | "refund"
  | "poll"
  | "publish"
  | "notify";
export type Write = "put" | "alarm" | "erase";

/** A request that is on its way until the test answers it. */
export interface Sending {
  readonly delivery: Delivery;
  answer(outcome: Outcome): void;
}

/** A question to the upstream that is on its way until the test answers it, or it is aborted. */
export interface Polling {
  readonly poll: Poll;
  /** Unix milliseconds. */
  readonly askedAt: number;
  readonly aborted: AbortSignal;
  answer(answer: PollAnswer): void;
}

/** How the ledger fails: it is not reached, or its answer is not. */
export type Outage = "deaf" | "mute";
