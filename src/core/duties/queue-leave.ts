import { freesPlace, needsNoPlace } from "../plans/queue-places.ts";
import type { Policy } from "../policy.ts";
import type { TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";
import { mayDelayClient } from "./operator-notice-send.ts";

/** An order to leave the queues of connections: a place that the submission holds there becomes free. */
export interface QueueLeave {
  readonly taskId: string;
  readonly submissionId: string;
  /** Names of the connections whose queues the submission leaves. */
  readonly connections: readonly string[];
  /** Name of the connection with which the upstream has accepted the submission. Null when it is not known to have. */
  readonly ranAt: string | null;
}

export interface LeaveStep {
  readonly kind: "leaveQueues";
  readonly leave: QueueLeave;
}

/**
 * Time in milliseconds that must lie between an order and a planned refund or attempt of the callback. With less time the
 * order is not sent, because waiting for its answer could delay them.
 */
const CLEARANCE_MS = 2_500;

/**
 * Returns the order to leave the queues of a submission that needs no place any more. It is repeated until all queues
 * have confirmed it; the waits are planned by `planRetry` in record/retry.ts. The first order does not come from this
 * duty: it is sent beside the commit from which on no place is needed (`firstLeaveOf`). Null while a place is needed, and
 * when a refund or an attempt of the callback is planned so soon that the order could delay it.
 */
export function leaveQueues(record: TaskRecord, policy: Policy): Duty<LeaveStep> | null {
  const stay = record.submission?.stay;
  const leave = needsNoPlace(record) ? leaveOf(record) : null;
  if (stay === undefined || leave === null) return null;
  const { retryAt } = stay.leave;
  if (mayDelayClient(record, policy, retryAt, CLEARANCE_MS)) return null;
  return { dueAt: retryAt, step: () => ({ kind: "leaveQueues", leave }) };
}

/**
 * Returns the order to leave the queues of a submission that needs no place any more since this change. Null for any
 * other change.
 */
export function firstLeaveOf(before: TaskRecord | null, after: TaskRecord): QueueLeave | null {
  return freesPlace(before, after) ? leaveOf(after) : null;
}

/** Returns the order to leave the queues of a task's submission. Null when it is in none. */
export function leaveOf({ id: taskId, submission, upstream }: TaskRecord): QueueLeave | null {
  if (submission?.stay === undefined) return null;
  const { id: submissionId, state, stay } = submission;
  const ranAt = state.kind === "accepted" ? (upstream?.connection ?? null) : null;
  return { taskId, submissionId, connections: stay.connections, ranAt };
}
