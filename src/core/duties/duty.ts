import type { TaskEvent } from "../events/event.ts";

/** One step that a task owes. */
export interface Duty<Step> {
  /** Unix milliseconds from which the step is due. */
  readonly dueAt: number;
  /** Builds the step; called only when the step is taken. */
  readonly step: () => Step;
}

/** A step that makes no call: an event that the task applies to itself. */
export interface EventStep {
  readonly kind: "event";
  readonly event: TaskEvent;
}
