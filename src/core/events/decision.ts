import type { ConflictCode, Rejection } from "./rejection.ts";
import type { TaskRecord } from "../record/task.ts";

/** What an event means for a task. */
export type Decision =
  | { readonly kind: "commit"; readonly record: TaskRecord; readonly note?: Note }
  | { readonly kind: "erase" }
  /** Already so, or about something that is over. */
  | { readonly kind: "nothing"; readonly record: TaskRecord | null; readonly note?: Note }
  | { readonly kind: "reject"; readonly rejection: Rejection };

/** What became of a hook, for the operator's log. */
export type Note = "nudged" | "kept" | "ignored" | "other_job" | "late_result";

export function changed(record: TaskRecord, note?: Note): Decision {
  return { kind: "commit", record, ...(note && { note }) };
}

export function unchanged(record: TaskRecord | null, note?: Note): Decision {
  return { kind: "nothing", record, ...(note && { note }) };
}

export function conflict(code: ConflictCode, task: TaskRecord): Decision {
  return { kind: "reject", rejection: { code, task } };
}

export const UNKNOWN_TASK: Decision = { kind: "reject", rejection: { code: "unknown_task" } };
export const UNKNOWN_ACCOUNT: Decision = { kind: "reject", rejection: { code: "unknown_account" } };
export const CHARGING: Decision = { kind: "reject", rejection: { code: "charging" } };
