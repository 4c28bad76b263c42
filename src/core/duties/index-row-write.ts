import type { Policy } from "../policy.ts";
import type { CreatedTask, TaskRecord } from "../record/task.ts";
import { nextAttemptAt } from "./callback-attempt.ts";
import {
  firstWriteAt,
  indexedVersion,
  nextWriteAfter,
  rowExpiresAt,
} from "../plans/index-row-schedule.ts";
import { type IndexRow, rowOf } from "../views/index-row.ts";
import type { Duty } from "./duty.ts";

// The row of a task in the index: what it contains (views/index-row.ts), when it is written first and again after a failure
// (plans/index-row-schedule.ts), how it is sent (index-db/index-row-send.ts), by way of the queue too
// (index-db/index-row-queue.ts), and what the task learns of it (events/index-row-events.ts).

export interface IndexRowStep {
  readonly kind: "writeIndexRow";
  readonly row: IndexRow;
  /** True when a write of this version of the row was planned before. That write may have succeeded. */
  readonly isRepeat: boolean;
}

/**
 * Time in milliseconds before a planned attempt of the callback in which no write to the index is started. It is longer
 * than the timeout of such a write, so that a write never delays the attempt.
 */
const CLEARANCE_MS = 2_500;

/**
 * Returns the next write of a task's index row. Null when no write is planned:
 * - the relay has no index,
 * - the price of the task is not charged yet,
 * - the index has the present version of the task's record,
 * - the row would have expired by the time of the write, or
 * - an attempt of the callback comes first, or is running.
 */
export function writeIndexRow(record: TaskRecord, policy: Policy): Duty<IndexRowStep> | null {
  if (!policy.isIndexed || record.status === "charging") return null;
  const at = writeAt(record, policy);
  if (at === null) return null;
  const isRepeat = firstWriteAt(record, policy) <= policy.indexTriedAt;
  const step = () => ({ kind: "writeIndexRow", row: rowOf(record, policy), isRepeat }) as const;
  return { dueAt: at, step };
}

/**
 * Returns the time at which the task's row is to be written to the index, in Unix milliseconds. Null when the index has
 * the present version of the task already, when the row would have expired by then, or when an attempt of the callback,
 * which changes the task anyway, comes first or is running.
 */
function writeAt(record: CreatedTask, policy: Policy): number | null {
  if (indexedVersion(record, policy) === record.version) return null;
  const firstAt = firstWriteAt(record, policy);
  const { indexTriedAt, indexOrderedAt } = policy;
  const plannedAt = firstAt > indexTriedAt ? firstAt : nextWriteAfter(record, indexTriedAt);
  const at = Math.max(plannedAt, indexOrderedAt);
  if (at >= rowExpiresAt(record, policy)) return null;
  const startsAt = Math.max(at, policy.readyAt);
  return startsAt > nextAttemptAt(record, policy) - CLEARANCE_MS ? null : at;
}
