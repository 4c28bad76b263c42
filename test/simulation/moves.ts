import type { TaskEvent } from "../../src/core/events/event.ts";
import type { Setting } from "./setting.ts";

/**
 * One step of the simulation. Each step is possible in any state; where it does not apply, nothing happens.
 */
export type Move = Action & {
  /**
   * Number of turns until the next move; by default the next move waits until nothing more happens by itself.
   */
  readonly turns?: number;
};

export type Action =
  /** Move in which somebody calls the relay. */
  | { readonly kind: "event"; readonly event: OutsideEvent }
  | { readonly kind: "read" }
  /** Move in which a client reads the submitted job: the request to the upstream leaves. */
  | { readonly kind: "readJob" }
  /** Move in which the answer to a client's read of the job comes; both numbers select as those of `end` do. */
  | { readonly kind: "answerReader"; readonly pick: number; readonly ending: number }
  /** Move in which a running call ends; both numbers select a call and its end, modulo how many there are. */
  | { readonly kind: "end"; readonly pick: number; readonly ending: number }
  /** Move in which the sender of a running attempt answers the object, because the receiver is slow. */
  | { readonly kind: "defer" }
  /**
   * Move in which the sender of a slow attempt goes on: its receiver answers, and it reports the end now, later or again,
   * or it dies. The numbers select the sender and its act, modulo how many there are.
   */
  | { readonly kind: "sender"; readonly pick: number; readonly act: number }
  /** Move in which a request still arrives that an instance had sent before it died or stopped waiting. */
  | { readonly kind: "arriveLate"; readonly pick: number }
  /**
   * Move in which a Worker that submits a job, or the object of a call, goes on: it begins the call, sends it, gets the
   * upstream's answer, or brings the outcome to the object. The numbers select who goes on and its next act, modulo how
   * many there are.
   */
  | { readonly kind: "submit"; readonly pick: number; readonly ending: number }
  /** Move in which a Worker that submits a job dies, or the object of a call, which then begins anew with what it has stored. */
  | { readonly kind: "lose"; readonly pick: number }
  /**
   * Move in which the pending alarm fires. @param isSlow true when running calls take longer than their time
   * limits.
   */
  | { readonly kind: "ring"; readonly lateMs: number; readonly isSlow: boolean }
  /** Move in which the last alarm fires once more, because the platform may fire an alarm more than once. */
  | { readonly kind: "duplicateAlarm" }
  /** Move in which time passes without an alarm, or the clock steps back. */
  | { readonly kind: "pass"; readonly ms: number; readonly isSlow: boolean }
  /**
   * Move in which the instance dies: now, or at one of the points before and after the commits and calls to
   * come.
   */
  | { readonly kind: "crash"; readonly afterPoints: number }
  | { readonly kind: "deploy"; readonly setting: Setting }
  | { readonly kind: "misconfigure"; readonly isBroken: boolean }
  /** Move after which the storage fails for this number of reads. */
  | { readonly kind: "fault"; readonly reads: number }
  /** Move in which the operator pauses a receiver's host for this time, or moves the end of its pause. */
  | { readonly kind: "pause"; readonly host: string; readonly ms: number }
  | { readonly kind: "resume"; readonly host: string }
  /** Move in which the operator adds credits to the account, or takes some, even to a negative balance. */
  | { readonly kind: "adjust"; readonly amount: number };

export type OutsideEvent = Extract<
  TaskEvent,
  {
    readonly type:
      | "register"
      | "call_started"
      | "submit_ended"
      | "report"
      | "attach"
      | "hook"
      | "redeliver"
      | "cancel"
      | "cancel_submitted"
      | "erase"
      | "rewrite_index_row"
      | "copies_ended"
      | "delete_outputs";
  }
>;
