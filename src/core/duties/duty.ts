import type { TaskEvent } from "../events/event.ts";

/**
 * A duty: a step that the stored task requires next, e.g. a poll or an attempt of the callback, and the
 * time from which the step is due.
 */
export interface Duty<Step> {
  /** Time from which the step (e.g. a poll) is to be taken, in Unix milliseconds. */
  readonly dueAt: number;
  /** Builds the description of the step (e.g. a poll) that is taken at `now`. */
  readonly step: (now: number) => Step;
}

/**
 * A step in the work on a task that calls no other service, but applies an event to the task, e.g. that its
 * deadline has passed.
 */
export interface EventStep {
  readonly kind: "event";
  readonly event: TaskEvent;
}
