import { charge } from "./duties/charge.ts";
import { passDeadline } from "./duties/deadline.ts";
import { deliver, type SendStep } from "./duties/deliver.ts";
import type { Duty, EventStep } from "./duties/duty.ts";
import { expire } from "./duties/expire.ts";
import { notify } from "./duties/notify.ts";
import { poll } from "./duties/poll.ts";
import { publish } from "./duties/publish.ts";
import { refund } from "./duties/refund.ts";
import type { Policy } from "./policy.ts";
import type { TaskRecord } from "./record/task.ts";

/**
 * All duties of a task, in the order in which due steps are taken. Each entry returns the step that a
 * record calls for and the time from which it is due, or null.
 */
const DUTIES = [charge, poll, passDeadline, refund, deliver, publish, notify, expire] as const;

/** A step of the work loop: a call to another service, an event to apply, or an attempt to send. */
export type Step = StepOf<ReturnType<(typeof DUTIES)[number]>>;
type StepOf<D> = D extends Duty<infer S> ? S : never;

/** A step that calls another service; the answer becomes an event. */
export type CallStep = Exclude<Step, EventStep | SendStep>;

/** Returns the first step that is due at `now`; null when nothing is due. */
export function nextStep(record: TaskRecord, policy: Policy, now: number): Step | null {
  return (
    dutiesOf(record, policy)
      .find(({ dueAt }) => dueAt <= now)
      ?.step() ?? null
  );
}

/**
 * Returns the time at which the next step is due, in Unix milliseconds. Every record has a next step, at
 * the latest its own erasure, so no task is forgotten.
 */
export function wakeAt(record: TaskRecord, policy: Policy): number {
  return Math.min(...dutiesOf(record, policy).map(({ dueAt }) => dueAt));
}

function dutiesOf(record: TaskRecord, policy: Policy): readonly Duty<Step>[] {
  return DUTIES.flatMap((dutyOf) => dutyOf(record, policy) ?? []);
}
