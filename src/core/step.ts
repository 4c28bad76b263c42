import { askKeptJob } from "./duties/ask-kept-job.ts";
import { askLateJob } from "./duties/ask-late-job.ts";
import { charge } from "./duties/charge.ts";
import { passDeadline } from "./duties/deadline.ts";
import { deliver, type SendStep } from "./duties/callback-attempt.ts";
import type { Duty, EventStep } from "./duties/duty.ts";
import { expire } from "./duties/expire.ts";
import { sendNotice } from "./duties/operator-notice-send.ts";
import { poll } from "./duties/poll.ts";
import { writeIndexRow } from "./duties/index-row-write.ts";
import { refund } from "./duties/refund.ts";
import type { Policy } from "./policy.ts";
import type { TaskRecord } from "./record/task.ts";

/**
 * All duties of a task (kinds of work, such as polls and attempts of the callback), in the order in which
 * they are done when several are due. Each function returns the step that the stored task requires and its
 * time, or null.
 */
const DUTIES = [
  charge,
  poll,
  askKeptJob,
  passDeadline,
  refund,
  deliver,
  writeIndexRow,
  sendNotice,
  askLateJob,
  expire,
] as const;

/**
 * A step, an action that the work loop of a task takes: a call to another service, an event to apply, or an
 * attempt of the callback to send.
 */
export type Step = StepOf<ReturnType<(typeof DUTIES)[number]>>;
type StepOf<D> = D extends Duty<infer S> ? S : never;

/**
 * A step in the work on a task that calls another service than the receiver of the callback; the answer is
 * applied to the task as an event.
 */
export type CallStep = Exclude<Step, EventStep | SendStep>;

/**
 * Returns the first step, such as a poll or an attempt, that is due for a task at `now`; null when nothing
 * is due.
 */
export function nextStep(record: TaskRecord, policy: Policy, now: number): Step | null {
  for (const dutyOf of DUTIES) {
    const duty = dutyOf(record, policy);
    if (duty !== null && duty.dueAt <= now) return duty.step(now);
  }
  return null;
}

/**
 * Returns the time at which the next step for a task, such as a poll or an attempt, is due, in Unix
 * milliseconds. Every stored task has one, at the latest its own erasure, so no task is forgotten.
 */
export function wakeAt(record: TaskRecord, policy: Policy): number {
  let first = Infinity;
  for (const dutyOf of DUTIES) first = Math.min(first, dutyOf(record, policy)?.dueAt ?? Infinity);
  return first;
}
