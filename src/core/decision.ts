import type { ConflictCode, Rejection } from "./rejection.ts";
import type { TaskRecord } from "./task.ts";

/** What an event means for a task. */
export type Decision =
  | { readonly kind: "commit"; readonly record: TaskRecord }
  | { readonly kind: "erase" }
  /** Already so, or about something that is over. */
  | { readonly kind: "nothing"; readonly record: TaskRecord | null }
  | { readonly kind: "reject"; readonly rejection: Rejection };

export function commit(record: TaskRecord): Decision {
  return { kind: "commit", record };
}

export function nothing(record: TaskRecord | null): Decision {
  return { kind: "nothing", record };
}

export function conflict(code: ConflictCode, task: TaskRecord): Decision {
  return { kind: "reject", rejection: { code, task } };
}

export const UNKNOWN_TASK: Decision = { kind: "reject", rejection: { code: "unknown_task" } };
export const UNKNOWN_ACCOUNT: Decision = { kind: "reject", rejection: { code: "unknown_account" } };
export const CHARGING: Decision = { kind: "reject", rejection: { code: "charging" } };
