import type { TaskEvent } from "../events/event.ts";

/** A duty: one step that the record of a task calls for, and when the step is due. */
export interface Duty<Step> {
  /** Time from which the step is due, in Unix milliseconds. */
  readonly dueAt: number;
  /** Builds the step; called only when the step is taken. */
  readonly step: () => Step;
}

/** A step that makes no call, but applies an event to the task. */
export interface EventStep {
  readonly kind: "event";
  readonly event: TaskEvent;
}
