import { dueAt, isSettled } from "./callback.ts";
import type { Policy } from "./schedule.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "./task.ts";

/** What the work loop has to do next. */
export type Step =
  | { readonly kind: "deadline" }
  | { readonly kind: "start_attempt" }
  | { readonly kind: "send"; readonly delivery: Delivery }
  | { readonly kind: "expire" };

/** All that one attempt needs to be sent. */
export interface Delivery {
  readonly taskId: string;
  readonly status: TerminalTask["status"];
  readonly body: string;
  readonly url: string;
  readonly origin: string;
  readonly number: number;
  readonly startedAt: number;
}

/** A step and the time from which it is due, in Unix milliseconds. */
interface Duty {
  readonly dueAt: number;
  readonly step: Step;
}

/** One kind of duty: what a record owes of it, or null. */
type DutyOf = (record: TaskRecord, policy: Policy) => Duty | null;

/** In the order in which due steps are taken. Later kinds of work are further entries. */
const DUTIES: readonly DutyOf[] = [passDeadline, deliver, expire];

/** The first step that is due at `now`; null: nothing to do. */
export function nextStep(record: TaskRecord, policy: Policy, now: number): Step | null {
  return duties(record, policy).find((duty) => duty.dueAt <= now)?.step ?? null;
}

/** When something is due next; every record has such a time, so no task is ever forgotten. */
export function wakeAt(record: TaskRecord, policy: Policy): number {
  return Math.min(...duties(record, policy).map((duty) => duty.dueAt));
}

function duties(record: TaskRecord, policy: Policy): readonly Duty[] {
  return DUTIES.flatMap((dutyOf) => dutyOf(record, policy) ?? []);
}

function passDeadline(record: TaskRecord): Duty | null {
  if (isTerminal(record)) return null;
  return { dueAt: record.deadlineAt, step: { kind: "deadline" } };
}

function deliver(record: TaskRecord, policy: Policy): Duty | null {
  if (!isTerminal(record) || record.callback === null) return null;
  const { state, url } = record.callback;
  switch (state.kind) {
    case "due":
      return { dueAt: dueAt(state, policy), step: { kind: "start_attempt" } };
    case "in_flight": {
      const { id: taskId, status, body, origin } = record;
      const { number, startedAt } = state;
      const delivery = { taskId, status, body, url, origin, number, startedAt };
      return { dueAt: startedAt, step: { kind: "send", delivery } };
    }
    case "delivered":
    case "failed":
      return null;
  }
}

function expire(record: TaskRecord): Duty | null {
  if (!isTerminal(record) || !isSettled(record.callback)) return null;
  return { dueAt: record.expiresAt, step: { kind: "expire" } };
}
