import type { CancelAnswer, ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { CallName, SimulatedObject, Subject } from "./simulated-object.ts";

/** A call that has left the object and whose answer has not come back. */
export interface OpenCall {
  readonly what: CallName;
  readonly caller: SimulatedObject;
  /** Time at which the caller stops waiting, in Unix milliseconds. */
  readonly endsBy: number;
  /**
   * Ends the call in one of the possible ways, selected by a number modulo how many there are; 0 is the best
   * way.
   */
  end(ending: number): void;
  /** Answers the caller, although the call goes on without it; null for a call that cannot do so. */
  readonly defer: (() => void) | null;
  /** Ends the call without an answer within its time limit. */
  expire(): void;
  /**
   * Lets the call arrive after its caller has stopped waiting; null when it has no effect outside of the
   * object.
   */
  readonly arrive: (() => void) | null;
}

/** Observer of each call that leaves and of each answer. */
export interface CallObserver {
  onSend(delivery: Subject<"send">, caller: SimulatedObject): void;
  onSendResult?(
    attempt: Pick<Subject<"send">, "number" | "startedAt">,
    outcome: Outcome,
    endedAt: number,
  ): void;
  onProgress?(callback: Subject<"sendProgress">, caller: SimulatedObject): void;
  onProgressAnswer?(caller: SimulatedObject): void;
  onCharge(charge: Subject<"charge">): void;
  onChargeAnswer?(charge: Subject<"charge">, answer: ChargeAnswer): void;
  onRefund?(refund: Subject<"refund">): void;
  onRelease?(release: Subject<"release">, withinMs: number): void;
  onPoll(poll: Subject<"poll">, caller: SimulatedObject, withinMs: number): void;
  onPollAnswer?(poll: Subject<"poll">, answer: PollAnswer, caller: SimulatedObject): void;
  onCancel?(cancel: Subject<"cancelJob">, caller: SimulatedObject): void;
  onCancelAnswer?(
    cancel: Subject<"cancelJob">,
    answer: CancelAnswer,
    caller: SimulatedObject,
  ): void;
  onIndexRow?(row: Subject<"writeIndexRow">, withinMs: number, caller: SimulatedObject): void;
  onCopyOrder?(order: Subject<"orderCopies">, withinMs: number): void;
  onCopyOrderAnswer?(order: Subject<"orderCopies">, isTaken: boolean): void;
  onNotice?(notice: Subject<"sendNotice">, withinMs: number): void;
  onNoticeTaken?(notice: Subject<"sendNotice">): void;
  onNoticeAnswer?(isTaken: boolean): void;
  /** Function that is told of an open call and may end it at once. */
  onOpenCall?(call: OpenCall): void;
  /** Function that takes a line of the trace. */
  note?(line: () => string): void;
  /** Names of the events that have occurred. */
  readonly observed?: Set<string>;
}
