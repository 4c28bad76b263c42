import type { TaskRecord } from "../record/task.ts";
import type { SpentMonth } from "./event.ts";

/** The effect that an event has on a task. */
export type Decision =
  | { readonly kind: "changed"; readonly record: TaskRecord; readonly note?: Note }
  /**
   * Effect of an event that changes nothing, because what it reports is known already, or because it is about something
   * that has ended.
   */
  | { readonly kind: "unchanged"; readonly record: TaskRecord | null; readonly note?: Note }
  /** Effect of an event that erases the task. `record` is the task before it is erased. */
  | { readonly kind: "erase"; readonly record: TaskRecord; readonly because: EraseReason }
  | { readonly kind: "reject"; readonly rejection: Rejection };

/**
 * The effect of a provider's hook, in one word for the log:
 * - `nudged`: it causes a poll.
 * - `kept`: it is stored until a job is attached.
 * - `ignored`: it changes neither the status nor the polls of the task.
 * - `other_job`: it is about another job than the attached one.
 * - `late_result`: it reports the success of a job whose task has failed already. A poll can have this effect too.
 */
export type Note = "nudged" | "kept" | "ignored" | "other_job" | "late_result";

/**
 * Reason why a task is erased. `settled` means that its retention has ended or that the operator erases it,
 * `not_submitted` that its submission was refused or not sent. Any other value states why its price was not charged.
 */
export type EraseReason = "settled" | "not_submitted" | ChargeRefusal;

/** Reason why the ledger did not charge the price of a task. */
export type ChargeRefusal =
  | { readonly code: "insufficient_credits"; readonly balance: number; readonly price: number }
  | ({ readonly code: "monthly_limit"; readonly price: number } & SpentMonth)
  | { readonly code: "unknown_account" };

/** Reason why an event is rejected. `task` is the stored task with which the event conflicts. */
export type Rejection =
  | { readonly code: "unknown_task" | "unknown_account" | "unknown_output" }
  /** Rejection of a registration or a result that would make the record of the task too large. */
  | { readonly code: "too_large"; readonly maxBytes: number }
  /**
   * Rejection while the price of the task is still being charged. Readers do not see the task before the ledger
   * answers.
   */
  | { readonly code: "charging" }
  | { readonly code: "invalid_field"; readonly field: string; readonly message: string }
  /** Rejection because there is no endpoint with the name at the place `field` of the request. */
  | { readonly code: "unknown_endpoint"; readonly field: string }
  | { readonly code: ConflictCode; readonly task: TaskRecord };

export type ConflictCode =
  | "task_exists"
  | "conflicting_result"
  | "task_open"
  | "task_settled"
  | "series_running"
  | "submission_running"
  | "idempotency_key_reused"
  | "not_cancelable"
  | "no_callback";

export const UNKNOWN_TASK: Decision = { kind: "reject", rejection: { code: "unknown_task" } };
export const UNKNOWN_ACCOUNT: Decision = { kind: "reject", rejection: { code: "unknown_account" } };
export const UNKNOWN_OUTPUT: Decision = { kind: "reject", rejection: { code: "unknown_output" } };
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

/**
 * Returns the rejection of a request because of an invalid field.
 * @param field JSON Pointer into the request body.
 */
export function invalidField(field: string, message: string): Decision {
  return { kind: "reject", rejection: { code: "invalid_field", field, message } };
}

/** Returns the rejection of a request that names an endpoint which does not exist. */
export function unknownEndpoint(field: string): Decision {
  return { kind: "reject", rejection: { code: "unknown_endpoint", field } };
}
