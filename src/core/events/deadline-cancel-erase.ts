import { changed, conflict, type Decision, erasure, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { CancelEvent } from "./event.ts";
import { finishAtDeadline, finishCanceled } from "./finish.ts";
import type { Policy } from "../policy.ts";
import { finalPollAt } from "../polls/next-poll.ts";
import {
  askingOf,
  canCancelJob,
  startCancellation,
  unsentCancellation,
} from "../record/cancellation.ts";
import { isQueued, isSending, neverSent } from "../record/submission.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  nextVersion,
  type OpenTask,
  type TaskRecord,
} from "../record/task.ts";

/** Returns the effect of the deadline: a task without a result fails once its deadline has passed. */
export function endAtDeadline(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || !isOpen(record) || finalPollAt(record) > now) return unchanged(record);
  return changed(finishAtDeadline(record, policy, now));
}

/**
 * Returns the effect of an operator's order to cancel an open task. If the relay can cancel the job, the upstream is
 * asked first (duties/cancel-job.ts), and the task stays open until the upstream has confirmed. Otherwise, and when the
 * operator forces it, the task fails at once. A call that waits to be sent is then never sent.
 */
export function cancel(
  record: TaskRecord | null,
  { isForced }: CancelEvent,
  policy: Policy,
  now: number,
): Decision {
  return whileOpen(record, (task) =>
    isForced || isQueued(task.submission) || !canCancelJob(task, policy)
      ? changed(failAtOnce(task, policy, now))
      : ask(task, now),
  );
}

/**
 * Returns the effect of an account's order to cancel its task. An account may cancel only tasks that it has submitted
 * itself, and only if the call still waits to be sent or the relay can cancel the job. Otherwise the price would be
 * returned although the operator may have to pay for the job.
 */
export function cancelSubmitted(record: TaskRecord | null, policy: Policy, now: number): Decision {
  return whileOpen(record, (task) => {
    if (task.submission?.isByOwner !== true) return conflict("not_cancelable", task);
    if (isQueued(task.submission)) return changed(failAtOnce(task, policy, now));
    return canCancelJob(task, policy) ? ask(task, now) : conflict("not_cancelable", task);
  });
}

/**
 * Returns the effect of an order to cancel a task, or the rejection of the order: it is rejected when the task is not
 * open, and while the upstream may still answer the submission.
 */
function whileOpen(record: TaskRecord | null, order: (task: OpenTask) => Decision): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (isTerminal(record)) return conflict("task_settled", record);
  // The upstream may start the job at this moment, and its answer would come to a task that has been refunded.
  return isSending(record.submission) ? conflict("submission_running", record) : order(record);
}

/**
 * Returns the effect of an order to cancel a task whose job the upstream is asked to cancel. The order changes nothing
 * when the upstream is already being asked, because of an earlier order or because the task has reached its deadline.
 */
function ask(record: OpenTask, now: number): Decision {
  const { cancellation: known } = record;
  if (known !== null && (askingOf(known) !== null || known.endsAt !== null)) {
    return unchanged(record);
  }
  const version = nextVersion(record, now);
  return changed({ ...record, version, cancellation: startCancellation(now) });
}

/**
 * Returns a task that an order to cancel makes fail at once: the upstream is not asked to cancel the job, or not asked
 * again.
 */
function failAtOnce(record: OpenTask, policy: Policy, now: number) {
  const cancellation = record.cancellation ?? unsentCancellation(now);
  const { submission: known } = record;
  const submission = known !== null && isQueued(known) ? neverSent(known) : known;
  return finishCanceled({ ...record, cancellation, submission }, policy, now);
}

/**
 * Returns the erasure of a task that has ended. The erasure is rejected while the task's refund, the release of its
 * credits or an attempt of its callback has still to be made.
 */
export function erase(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  if (!isSettled(record)) return conflict("series_running", record);
  return erasure(record, "settled");
}
