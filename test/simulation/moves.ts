import type { TaskEvent } from "../../src/core/events/event.ts";
import type { Setting } from "./setting.ts";

/** One step of the simulation. Each is possible in any state; where it does not apply, nothing happens. */
export type Move = Action & {
  /** Turns until the next move; by default it waits until nothing more happens by itself. */
  readonly turns?: number;
};

export type Action =
  /** Somebody calls the relay. */
  | { readonly kind: "event"; readonly event: OutsideEvent }
  | { readonly kind: "read" }
  /** A call that is under way comes to an end; both numbers are taken modulo what there is. */
  | { readonly kind: "end"; readonly pick: number; readonly ending: number }
  /** What an instance had sent before it died, or gave up waiting for, still arrives. */
  | { readonly kind: "arriveLate"; readonly pick: number }
  /** The pending alarm fires. @param isSlow calls under way take longer than they may. */
  | { readonly kind: "ring"; readonly lateMs: number; readonly isSlow: boolean }
  /** The last alarm fires once more, because alarms fire at least once. */
  | { readonly kind: "duplicateAlarm" }
  /** Time passes without an alarm, or steps back. */
  | { readonly kind: "pass"; readonly ms: number; readonly isSlow: boolean }
  /** The instance dies: now, or at one of the points before and after the commits and calls to come. */
  | { readonly kind: "crash"; readonly afterPoints: number }
  | { readonly kind: "deploy"; readonly setting: Setting }
  | { readonly kind: "misconfigure"; readonly isBroken: boolean }
  /** Reading the storage fails so many times. */
  | { readonly kind: "fault"; readonly reads: number }
  /** The operator adds credits to the account, or takes some, also to a negative balance. */
  | { readonly kind: "adjust"; readonly amount: number };

export type OutsideEvent = Extract<
  TaskEvent,
  {
    readonly type:
      | "register"
      | "report"
      | "attach"
      | "hook"
      | "redeliver"
      | "cancel"
      | "erase"
      | "republish";
  }
>;
