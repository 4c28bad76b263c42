import type { Policy } from "../policy.ts";
import { dueAt } from "../record/callback.ts";
import { type CreatedTask, isOpen, isSettled, type TaskRecord } from "../record/task.ts";
import { nextWriteAfter, rowExpiresAt } from "../record/index-row-schedule.ts";
import { SECOND_MS } from "../time.ts";
import { type IndexRow, rowOf } from "../views/index-row.ts";
import type { Duty } from "./duty.ts";

export interface IndexRowStep {
  readonly kind: "writeIndexRow";
  readonly row: IndexRow;
}

/**
 * Delay in milliseconds from the creation or last change of an open task to the first write of its row in the
 * index. A task that ends sooner, its callback included, is written only once.
 */
const FIRST_ROW_DELAY_MS = 30 * SECOND_MS;
/**
 * Delay in milliseconds from a change of an open task to the write of the change to its index row.
 */
const NEXT_ROW_DELAY_MS = 45 * SECOND_MS;
/**
 * Delay in milliseconds from the end of a task to the write of the end to the index, while its callback is
 * still being sent or its credits are being refunded; a callback that succeeds at once saves this write.
 */
const SENDING_DELAY_MS = 5 * SECOND_MS;
/**
 * Time in milliseconds before a planned attempt of the callback within which no write to the index starts,
 * so that the write, whose timeout is shorter, does not delay the attempt.
 */
const CLEARANCE_MS = 2_500;

/**
 * Returns the next write of a task's index row. Null when no write is planned: the relay has no index, the price of
 * the task is not charged yet, the index has the present version of the task's record, the row would have expired
 * by the time of the write, or an attempt of the callback comes first.
 */
export function writeIndexRow(record: TaskRecord, policy: Policy): Duty<IndexRowStep> | null {
  if (!policy.isIndexed || record.status === "charging") return null;
  const at = writeAt(record, policy);
  return at === null
    ? null
    : { dueAt: at, step: () => ({ kind: "writeIndexRow", row: rowOf(record, policy) }) };
}

/**
 * Returns the time at which the task's row is to be written to the index, in Unix milliseconds. Null when the index
 * has the present version of the task already, when the row would have expired by then, or when an attempt of the
 * callback comes first, which changes the task anyway.
 */
function writeAt(record: CreatedTask, policy: Policy): number | null {
  const { publication, version } = record;
  if (publication.version === version) return null;
  const firstAt = version + delayOf(record);
  const { indexTriedAt } = policy;
  const at = firstAt > indexTriedAt ? firstAt : nextWriteAfter(record, indexTriedAt);
  if (at >= rowExpiresAt(record, policy)) return null;
  if (isOpen(record) || record.callback?.state.kind !== "due") return at;
  return at > dueAt(record.callback.state, policy) - CLEARANCE_MS ? null : at;
}

function delayOf(record: CreatedTask): number {
  if (isOpen(record)) {
    return record.publication.version === 0 ? FIRST_ROW_DELAY_MS : NEXT_ROW_DELAY_MS;
  }
  return isSettled(record) ? 0 : SENDING_DELAY_MS;
}
