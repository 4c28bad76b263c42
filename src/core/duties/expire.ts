import { isSettled, isTerminal, type TaskRecord } from "../record/task.ts";
import type { Duty, EventStep } from "./duty.ts";

/** Erases a settled task when its retention ends. */
export function expire(record: TaskRecord): Duty<EventStep> | null {
  if (!isTerminal(record) || !isSettled(record)) return null;
  const { expiresAt } = record;
  return { dueAt: expiresAt, step: () => ({ kind: "event", event: { type: "erase" } }) };
}
