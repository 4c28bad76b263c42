import type { TaskRecord } from "../record/task.ts";

/** Why an event changes nothing. `task` is the record that stands in its way. */
export type Rejection =
  | { readonly code: "unknown_task" | "unknown_account" }
  /** The price of the task is being charged; until that is known nothing can be said of it. */
  | { readonly code: "charging" }
  | { readonly code: "invalid_field"; readonly field: string; readonly message: string }
  | { readonly code: ConflictCode; readonly task: TaskRecord };

export type ConflictCode =
  | "task_exists"
  | "conflicting_result"
  | "task_open"
  | "task_settled"
  | "series_running"
  | "no_callback";
