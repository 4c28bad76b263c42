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
  /** The pending alarm. @param isSlow calls under way take longer than they may. */
  | { readonly kind: "ring"; readonly lateMs: number; readonly isSlow: boolean }
  /** The last alarm once more: alarms come at least once. */
  | { readonly kind: "duplicateAlarm" }
  /** Time passes without an alarm, or steps back. */
  | { readonly kind: "pass"; readonly ms: number; readonly isSlow: boolean }
  /** The instance dies: now, or at one of the points before and after the commits and calls to come. */
  | { readonly kind: "crash"; readonly afterPoints: number }
  | { readonly kind: "deploy"; readonly setting: Setting }
  | { readonly kind: "misconfigure"; readonly isBroken: boolean }
  /** Reading the storage fails so many times. */
  | { readonly kind: "fault"; readonly reads: number }
  | { readonly kind: "grant"; readonly amount: number };

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

/** Describes a move for the trace. */
export function describeMove(move: Move): string {
  const { kind, turns, ...rest } = move;
  const hurry = turns === undefined ? [] : [`and after ${turns} turns`];
  if (kind === "event") return [describeEvent(move.event), ...hurry].join(" ");
  if (kind === "deploy") return `deploy ${JSON.stringify(rest)}`;
  const words = Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`);
  return [kind, ...words, ...hurry].join(" ");
}

function describeEvent(event: OutsideEvent): string {
  switch (event.type) {
    case "register": {
      const { callbackUrl, credits, provider } = event.registration;
      const { deadlineMs } = event;
      return `register ${JSON.stringify({ callbackUrl, credits, provider, deadlineMs })}`;
    }
    case "report":
      return `report ${JSON.stringify(event.news)}${event.creation === null ? "" : " (may create)"}`;
    case "hook": {
      const { type: _, ...hook } = event;
      return `hook ${JSON.stringify(hook)}`;
    }
    case "attach":
      return `attach ${event.job.id}`;
    case "redeliver":
      return `redeliver ${JSON.stringify({ attempts: event.attempts, key: event.idempotencyKey })}`;
    case "cancel":
    case "erase":
    case "republish":
      return event.type;
  }
}
