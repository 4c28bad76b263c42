import type { Policy } from "../policy.ts";
import { dueAt } from "../record/callback.ts";
import { type CreatedTask, isOpen, isSettled, type TaskRecord } from "../record/task.ts";
import { retryAfter, rowExpiresAt } from "../record/row-schedule.ts";
import { SECOND_MS } from "../time.ts";
import { type IndexRow, rowOf } from "../views/index-row.ts";
import type { Duty } from "./duty.ts";

export interface PublishStep {
  readonly kind: "publish";
  readonly row: IndexRow;
}

/**
 * Delay before the first row of an open task is written to the index. A task that settles sooner is written
 * only once.
 */
const FIRST_ROW_DELAY_MS = 30 * SECOND_MS;
/** Delay before a change of an open task is written to its existing row. */
const NEXT_ROW_DELAY_MS = 45 * SECOND_MS;
/** Delay before the end of a task is written to the index while its callback is being sent. */
const SENDING_DELAY_MS = 5 * SECOND_MS;
/** Time kept free before an attempt, so that no write to the index delays it; a write times out sooner. */
const CLEARANCE_MS = 2_500;

/**
 * Writes the task's current row to the index; a task that is still being charged has none, nor has one whose
 * row would have expired.
 */
export function publish(record: TaskRecord, policy: Policy): Duty<PublishStep> | null {
  if (!policy.isIndexed || record.status === "charging") return null;
  const at = publishAt(record, policy);
  return at === null
    ? null
    : { dueAt: at, step: () => ({ kind: "publish", row: rowOf(record, policy) }) };
}

/**
 * Returns the time at which the row is due, in Unix milliseconds; null when the index has this version
 * already, when its row would have expired by then, or when an attempt is due first, which changes the
 * record anyway.
 */
function publishAt(record: CreatedTask, policy: Policy): number | null {
  const { publication, version } = record;
  if (publication.version === version) return null;
  const firstAt = version + delayOf(record);
  const { indexTriedAt } = policy;
  const at = firstAt > indexTriedAt ? firstAt : retryAfter(record, indexTriedAt);
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
