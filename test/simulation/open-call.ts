import type { ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { CallName, SimulatedObject, Subject } from "./simulated-object.ts";

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
  onSend(delivery: Subject<"send">, caller: SimulatedObject): void;
  onSendResult?(number: number, outcome: Outcome): void;
  onCharge(charge: Subject<"charge">): void;
  onChargeAnswer?(charge: Subject<"charge">, answer: ChargeAnswer): void;
  onRefund?(refund: Subject<"refund">): void;
  onPoll(poll: Subject<"poll">, caller: SimulatedObject, withinMs: number): void;
  onPollAnswer?(poll: Subject<"poll">, answer: PollAnswer, caller: SimulatedObject): void;
  onPublish?(row: Subject<"publish">, withinMs: number): void;
  onNotify?(notice: Subject<"notify">, withinMs: number): void;
  onNoticeTaken?(notice: Subject<"notify">): void;
  onNoticeAnswer?(isTaken: boolean): void;
  /** May end the call at once. */
  onOpenCall?(call: OpenCall): void;
  /** Takes a line of the trace. */
  note?(line: () => string): void;
  /** Names of what has happened. */
  readonly observed?: Set<string>;
}
