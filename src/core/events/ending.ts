import { changed, conflict, type Decision, erasure, unchanged, UNKNOWN_TASK } from "./decision.ts";
import { finishAtDeadline, finishCanceled } from "./finish.ts";
import type { Policy } from "../policy.ts";
import { finalPollAt } from "../polls/next-poll.ts";
import { isSending } from "../record/submission.ts";
import { isOpen, isSettled, isTerminal, type TaskRecord } from "../record/task.ts";

/** Returns the effect of the deadline: a task without a result fails once its deadline has passed. */
export function endAtDeadline(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || !isOpen(record) || finalPollAt(record) > now) return unchanged(record);
  return changed(finishAtDeadline(record, policy, now));
}

/** Returns the effect of a cancellation by the operator: an open task fails. */
export function cancel(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (isTerminal(record)) return conflict("task_settled", record);
  // The upstream may start the job at this moment, and its answer would come to a task that has been refunded.
  if (isSending(record.submission)) return conflict("submission_running", record);
  return changed(finishCanceled(record, policy, now));
}

/**
 * Returns the erasure of a task that has ended. It is rejected while the task's refund or an attempt of its
 * callback is still to be made.
 */
export function erase(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  if (!isSettled(record)) return conflict("series_running", record);
  return erasure(record, "settled");
}
