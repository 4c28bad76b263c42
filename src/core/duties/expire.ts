import { isSettled, isTerminal, type TaskRecord } from "../record/task.ts";
import type { Duty, EventStep } from "./duty.ts";

/**
 * Returns the step that erases a task at the end of its retention. Null while the task is open, and while its refund,
 * the release of its credits or an attempt of its callback has still to be made. Null also before the queues of its
 * submission have confirmed that the submission has left them, so that it never holds a place without a task.
 */
export function expire(record: TaskRecord): Duty<EventStep> | null {
  if (!isTerminal(record) || !isSettled(record)) return null;
  if (record.submission?.stay !== undefined) return null;
  const { expiresAt } = record;
  return { dueAt: expiresAt, step: () => ({ kind: "event", event: { type: "erase" } }) };
}
