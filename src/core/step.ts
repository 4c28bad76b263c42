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
 * Everything that a task can owe, in the order in which due steps are taken. Each entry returns what a
 * record owes of its kind, and from when; null when it owes nothing of it.
 */
const DUTIES = [charge, poll, passDeadline, refund, deliver, publish, notify, expire] as const;

/** The next action of the work loop: it asks somebody else, applies an event, or sends an attempt. */
export type Step = StepOf<ReturnType<(typeof DUTIES)[number]>>;
type StepOf<D> = D extends Duty<infer S> ? S : never;

/** A step that asks somebody else; the answer becomes an event. */
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
 * Returns when the next step is due, in Unix milliseconds. Every record owes something, at the latest its
 * own erasure, so no task is ever forgotten.
 */
export function wakeAt(record: TaskRecord, policy: Policy): number {
  return Math.min(...dutiesOf(record, policy).map(({ dueAt }) => dueAt));
}

function dutiesOf(record: TaskRecord, policy: Policy): readonly Duty<Step>[] {
  return DUTIES.flatMap((dutyOf) => dutyOf(record, policy) ?? []);
}
