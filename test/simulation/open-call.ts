import type { ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Delivery } from "../../src/core/duties/deliver.ts";
import type { OperatorNotice } from "../../src/core/duties/notify.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import type { CallName, SimulatedObject } from "./simulated-object.ts";

/** A call that has left the object and has not come back. */
export interface OpenCall {
  readonly what: CallName;
  readonly caller: SimulatedObject;
  /** When its caller stops waiting; Unix milliseconds. */
  readonly endsBy: number;
  /** Ends the call in one of the ways that are possible, taken modulo their number; 0 is the best. */
  end(ending: number): void;
  /** Ends the call without an answer in time. */
  expire(): void;
  /** Lets the call arrive after its caller has stopped waiting; null when it has no effect outside. */
  readonly arrive: (() => void) | null;
}

/** Sees each call that leaves and each answer. */
export interface CallObserver {
  onSend(delivery: Delivery, caller: SimulatedObject): void;
  onSendResult?(number: number, outcome: Outcome): void;
  onCharge(charge: Charge): void;
  onChargeAnswer?(charge: Charge, answer: ChargeAnswer): void;
  onRefund?(refund: Refund): void;
  onPoll(poll: Poll): void;
  onPollAnswer?(poll: Poll, answer: PollAnswer): void;
  onPublish?(row: IndexRow, withinMs: number): void;
  onNotify?(notice: OperatorNotice, withinMs: number): void;
  onNoticeTaken?(notice: OperatorNotice): void;
  onNoticeAnswer?(isTaken: boolean): void;
  /** May end the call at once. */
  onOpenCall?(call: OpenCall): void;
  /** Takes a line of the trace. */
  note?(line: () => string): void;
  /** Names of what has happened. */
  readonly observed?: Set<string>;
}
