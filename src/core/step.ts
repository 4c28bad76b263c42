import { askKeptJob } from "./duties/ask-kept-job.ts";
import { askLateJob } from "./duties/ask-late-job.ts";
import { cancelJob } from "./duties/cancel-job.ts";
import { charge } from "./duties/charge.ts";
import { noteCustomerKey } from "./duties/customer-key-check.ts";
import { forgetCustomerKey } from "./duties/customer-key-drop.ts";
import { passDeadline } from "./duties/deadline.ts";
import { deliver } from "./duties/callback-attempt.ts";
import type { Duty, EventStep } from "./duties/duty.ts";
import { expire } from "./duties/expire.ts";
import { sendNotice } from "./duties/operator-notice-send.ts";
import { poll } from "./duties/poll.ts";
import { writeIndexRow } from "./duties/index-row-write.ts";
import { orderCopies } from "./duties/copy-order.ts";
import { refund } from "./duties/refund.ts";
import { leaveQueues } from "./duties/queue-leave.ts";
import { release } from "./duties/release.ts";
import { endSubmissionWait } from "./duties/submission-wait.ts";
import type { Policy } from "./policy.ts";
import type { TaskRecord } from "./record/task.ts";

/**
 * All duties of a task (kinds of work, e.g. polls and attempts of the callback). When several are due, they are done in
 * this order. Each function returns the step that the stored task requires next and the time of this step, or null when
 * none is required.
 */
const DUTIES = [
  charge,
  noteCustomerKey,
  cancelJob,
  poll,
  askKeptJob,
  endSubmissionWait,
  passDeadline,
  refund,
  deliver,
  release,
  leaveQueues,
  writeIndexRow,
  sendNotice,
  orderCopies,
  askLateJob,
  forgetCustomerKey,
  expire,
] as const;

/** A step of the work loop of a task: a call to another service, or an event to apply. */
export type Step = StepOf<ReturnType<(typeof DUTIES)[number]>>;
type StepOf<D> = D extends Duty<infer S> ? S : never;

/**
 * A step that calls another service (e.g. the upstream or the ledger), but not the receiver of the callback. The
 * answer is applied to the task as an event.
 */
export type CallStep = Exclude<Step, EventStep>;

/**
 * Returns the first step, e.g. a poll or an attempt of the callback, that is due for a task at `now`. Null when
 * nothing is due.
 */
export function nextStep(record: TaskRecord, policy: Policy, now: number): Step | null {
  for (const dutyOf of DUTIES) {
    const duty = dutyOf(record, policy);
    if (duty !== null && duty.dueAt <= now) return duty.step(now);
  }
  return null;
}

/**
 * Returns the time at which the next step for a task is due, in Unix milliseconds. Every stored task has a next step,
 * if nothing else its own erasure, so no task is forgotten.
 */
export function wakeAt(record: TaskRecord, policy: Policy): number {
  let first = Infinity;
  for (const dutyOf of DUTIES) first = Math.min(first, dutyOf(record, policy)?.dueAt ?? Infinity);
  return first;
}
