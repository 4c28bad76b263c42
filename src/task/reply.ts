import type { Decision } from "../core/events/decision.ts";
import type { ConflictCode, Rejection } from "../core/events/rejection.ts";
import { isTerminal, type TaskRecord } from "../core/record/task.ts";
import { type Role, taskView } from "../core/views/task-view.ts";

/** A task as one reader may see it. */
export interface TaskReply {
  readonly version: number;
  readonly isTerminal: boolean;
  /** JSON text of the task object. */
  readonly json: string;
}

/** What became of a request to the object. */
export type Applied =
  | { readonly kind: "recorded" | "repeated"; readonly task: TaskReply }
  /** With what finds its row in the index. */
  | { readonly kind: "erased"; readonly createdAt: number; readonly version: number }
  | Refused;

export type Refused =
  | { readonly kind: "conflict"; readonly code: ConflictCode; readonly task: TaskReply }
  | { readonly kind: "invalid_field"; readonly field: string; readonly message: string }
  | { readonly kind: "insufficient_credits"; readonly balance: number; readonly price: number }
  | { readonly kind: "unknown_task" | "unknown_account" | "charging" };

/** @param before the record that the event met. */
export function appliedOf(decision: Decision, before: TaskRecord | null, role: Role): Applied {
  switch (decision.kind) {
    case "commit":
      return { kind: "recorded", task: replyOf(decision.record, role) };
    case "nothing":
      if (decision.record === null) return { kind: "unknown_task" };
      return { kind: "repeated", task: replyOf(decision.record, role) };
    case "erase":
      return { kind: "erased", createdAt: before?.createdAt ?? 0, version: before?.version ?? 0 };
    case "reject":
      return refusedOf(decision.rejection, role);
  }
}

export function replyOf(record: TaskRecord, role: Role): TaskReply {
  return { version: record.version, isTerminal: isTerminal(record), json: taskView(record, role) };
}

function refusedOf(rejection: Rejection, role: Role): Refused {
  switch (rejection.code) {
    case "unknown_task":
    case "unknown_account":
    case "charging":
      return { kind: rejection.code };
    case "invalid_field":
      return { kind: "invalid_field", field: rejection.field, message: rejection.message };
    case "task_exists":
    case "conflicting_result":
    case "task_open":
    case "task_settled":
    case "series_running":
    case "no_callback":
      return { kind: "conflict", code: rejection.code, task: replyOf(rejection.task, role) };
  }
}
