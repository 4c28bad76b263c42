import { hasFailedAt } from "../record/failed-job.ts";
import { planRetry } from "../record/retry.ts";
import { isTerminal, isToBeCharged, type TaskRecord } from "../record/task.ts";

/**
 * Tells whether the submission of a task needs no place in a queue any more: the task has ended, or its call will not be
 * sent and its price is being returned.
 */
export function needsNoPlace(record: TaskRecord): boolean {
  return isTerminal(record) || (record.status === "charging" && !isToBeCharged(record));
}

/** Tells whether a change of a task is the one from which on its submission needs no place in a queue. */
export function freesPlace(before: TaskRecord | null, after: TaskRecord): boolean {
  return needsNoPlace(after) && (before === null || !needsNoPlace(before));
}

/**
 * Returns the changed record with a plan to leave the queues of its submission, if the submission needs no place any
 * more since this change. The first order is sent beside the commit (`firstLeaveOf`), so the planned one repeats it.
 */
export function withLeavePlanned(
  before: TaskRecord | null,
  after: TaskRecord,
  now: number,
): TaskRecord {
  const { submission } = after;
  if (submission?.stay === undefined || !freesPlace(before, after)) return after;
  const stay = { ...submission.stay, leave: planRetry(submission.stay.leave, now) };
  return { ...after, submission: { ...submission, stay } };
}

/**
 * Tells whether a submission may use the place that it holds at a connection. While its call waits to be sent, it may
 * use a place at each connection in whose queue it is, except where its job has failed; from then on only at the
 * connection to which the call was sent.
 * @param record the task as it is stored; null when there is none.
 * @param attempt number of the attempt that holds the place, which is not needed after its refusal; by default the
 * present one.
 */
export function holdsPlace(
  record: TaskRecord | null,
  submissionId: string,
  connection: string,
  attempt = Infinity,
): boolean {
  if (record === null || record.submission?.id !== submissionId) return false;
  const { submission, upstream } = record;
  const { state, stay } = submission;
  if (needsNoPlace(record)) return false;
  if (stay === undefined || attempt < stay.attempt) return false;
  return state.kind === "queued"
    ? stay.connections.includes(connection) && !hasFailedAt(submission, connection)
    : upstream?.connection === connection;
}
