import type { TaskEvent } from "../events/event.ts";

/**
 * A duty: a step that a stored task requires next, e.g. a poll or an attempt of the callback, with the time from
 * which the step is due.
 */
export interface Duty<Step> {
  /** Time from which the step is due, in Unix milliseconds. */
  readonly dueAt: number;
  /** Returns the step to take. The parameter `now` is the time at which it is taken, in Unix milliseconds. */
  readonly step: (now: number) => Step;
}

/** A step that applies an event to the task (e.g. that its deadline has passed) and calls no other service. */
export interface EventStep {
  readonly kind: "event";
  readonly event: TaskEvent;
}
