import type { TaskRecord } from "../record/task.ts";

/** The effect that an event has on a task. */
export type Decision =
  | { readonly kind: "changed"; readonly record: TaskRecord; readonly note?: Note }
  /**
   * Effect of an event that changes nothing, because it repeats what is known or concerns something that
   * has ended.
   */
  | { readonly kind: "unchanged"; readonly record: TaskRecord | null; readonly note?: Note }
  /** Effect of an event that erases the task; `record` is the erased task. */
  | { readonly kind: "erase"; readonly record: TaskRecord; readonly because: EraseReason }
  | { readonly kind: "reject"; readonly rejection: Rejection };

/** The effect of a provider hook, as it is written to the log. */
export type Note = "nudged" | "kept" | "ignored" | "other_job" | "late_result";

/** Reason why a task is erased; `settled` means that its retention has ended or the operator erases it. */
export type EraseReason = "settled" | ChargeRefusal;

/** Reason why the ledger did not charge the price of a task. */
export type ChargeRefusal =
  | { readonly code: "insufficient_credits"; readonly balance: number; readonly price: number }
  | { readonly code: "unknown_account" };

/** Reason why an event is rejected; `task` is the stored record that conflicts with the event. */
export type Rejection =
  | { readonly code: "unknown_task" | "unknown_account" }
  /** Rejection of a registration or a result with which the record of the task would be too large. */
  | { readonly code: "too_large"; readonly maxBytes: number }
  /**
   * Rejection while the price of the task is being charged; the task is not visible before the ledger
   * answers.
   */
  | { readonly code: "charging" }
  | { readonly code: "invalid_field"; readonly field: string; readonly message: string }
  | { readonly code: ConflictCode; readonly task: TaskRecord };

export type ConflictCode =
  | "task_exists"
  | "conflicting_result"
  | "task_open"
  | "task_settled"
  | "series_running"
  | "idempotency_key_reused"
  | "no_callback";

export const UNKNOWN_TASK: Decision = { kind: "reject", rejection: { code: "unknown_task" } };
export const UNKNOWN_ACCOUNT: Decision = { kind: "reject", rejection: { code: "unknown_account" } };
export const CHARGING: Decision = { kind: "reject", rejection: { code: "charging" } };

export function changed(record: TaskRecord, note?: Note): Decision {
  return { kind: "changed", record, ...(note && { note }) };
}

export function unchanged(record: TaskRecord | null, note?: Note): Decision {
  return { kind: "unchanged", record, ...(note && { note }) };
}

export function erasure(record: TaskRecord, because: EraseReason): Decision {
  return { kind: "erase", record, because };
}

export function conflict(code: ConflictCode, task: TaskRecord): Decision {
  return { kind: "reject", rejection: { code, task } };
}

/** Builds the rejection of an invalid field. @param field JSON Pointer into the request body. */
export function invalidField(field: string, message: string): Decision {
  return { kind: "reject", rejection: { code: "invalid_field", field, message } };
}
