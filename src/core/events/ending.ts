import { changed, conflict, type Decision, erasure, unchanged, UNKNOWN_TASK } from "./decision.ts";
import { finishAtDeadline, finishCanceled } from "./finish.ts";
import type { Policy } from "../policy.ts";
import { finalPollAt } from "../polls/next-poll.ts";
import { isOpen, isSettled, isTerminal, type TaskRecord } from "../record/task.ts";

/** Fails a task whose deadline has passed without a result. */
export function endAtDeadline(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || !isOpen(record) || finalPollAt(record) > now) return unchanged(record);
  return changed(finishAtDeadline(record, policy, now));
}

/** Fails an open task that the operator cancels. */
export function cancel(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (isTerminal(record)) return conflict("task_settled", record);
  return changed(finishCanceled(record, policy, now));
}

/** Erases a task that has ended, unless an attempt of its callback or its refund is still to be made. */
export function erase(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  if (!isSettled(record)) return conflict("series_running", record);
  return erasure(record, "settled");
}
