import type { Policy } from "../policy.ts";
import { DAY_MS, SECOND_MS } from "../time.ts";
import { type IndexRowState, NO_INDEX_ROW } from "../record/index-row-state.ts";
import {
  type CreatedTask,
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
} from "../record/task.ts";

/**
 * Delay in milliseconds to the next write of the index row of an open task, from the first change that the row in the
 * index does not show yet.
 */
const NEXT_ROW_DELAY_MS = 45 * SECOND_MS;
/**
 * Delay in milliseconds from the end of a task to the write of its row to the index, while its callback is still being
 * sent or its credits are being refunded. If the callback succeeds within this delay, one write is saved.
 */
const SENDING_DELAY_MS = 5 * SECOND_MS;
const FIRST_RETRY_MS = 5 * SECOND_MS;
/**
 * Factor by which the age of an outdated index row grows from one repetition of a failed write to the next: 5 s, 20 s,
 * 80 s …
 */
const GROWTH = 4;
const MAX_RETRY_MS = 7 * DAY_MS;

/**
 * Returns the state of an index row that became outdated at `now`, i.e. that no longer shows the present state of its
 * task. The field `outdatedAt` is set to this time. The first write follows after a delay (`firstWriteAt`). After a
 * failure the write is repeated at the times that `nextWriteAfter` computes.
 */
export function outdatedSince(indexRow: IndexRowState, now: number): IndexRowState {
  return { ...indexRow, outdatedAt: now, hasFailed: false };
}

/**
 * Returns the newest version of the task's record that is known to be in the index, from the stored record or from the
 * memory of this instance of the task's object; 0 when none is known.
 */
export function indexedVersion({ indexRow }: TaskRecord, policy: Policy): number {
  return Math.max(indexRow.version, policy.indexedVersion);
}

/**
 * Returns the changed record with the version that the index has, and with the time at which the row became outdated.
 * An earlier such time is kept while the first write after it has not been made, and when that write has failed.
 * Otherwise the write may have succeeded, and the waits between repeated writes are counted from the new change.
 */
export function noteIndexRow(
  before: TaskRecord | null,
  after: TaskRecord,
  policy: Policy,
  now: number,
): TaskRecord {
  const version = indexedVersion(after, policy);
  const known = { ...after.indexRow, version };
  if (before?.version === after.version) {
    return { ...after, indexRow: version === after.version ? writtenRow(version) : known };
  }
  // A write that began in the same millisecond counts as tried at the time of the change.
  const isMissing = isRowMissing(before, policy, now) && policy.indexTriedAt < now;
  return { ...after, indexRow: isMissing ? known : outdatedSince(known, now) };
}

/** Returns the state of an index row that shows `version`, the present version of the task's record. */
export function writtenRow(version: number): IndexRowState {
  return { ...NO_INDEX_ROW, version };
}

/** Tells whether the index certainly has no row of the task: its first write has not been made yet, or has failed. */
function isRowMissing(record: TaskRecord | null, policy: Policy, now: number): boolean {
  if (record === null || record.status === "charging") return false;
  if (indexedVersion(record, policy) === record.version) return false;
  return record.indexRow.hasFailed || firstWriteAt(record, policy) > now;
}

/** Returns the state of an index row after a write of it has failed. */
export function failedRow(indexRow: IndexRowState): IndexRowState {
  return { ...indexRow, hasFailed: true };
}

/**
 * Returns the time of the first write of an outdated row to the index, in Unix milliseconds. For an open task, the
 * delay is counted from the first change that the row does not show. A later change does not postpone the write,
 * because each change of an alarm is billed as a written row. For a task that has ended, the delay is counted from its
 * last change.
 */
export function firstWriteAt(record: CreatedTask, policy: Policy): number {
  if (!isOpen(record)) return record.version + (isSettled(record) ? 0 : SENDING_DELAY_MS);
  const isFirst = indexedVersion(record, policy) === 0;
  const delayMs = isFirst ? policy.firstRowDelayMs : NEXT_ROW_DELAY_MS;
  return firstMissingAt(record) + delayMs;
}

/** Returns the time of the first change that the row in the index does not show yet, in Unix milliseconds. */
function firstMissingAt({ indexRow: { outdatedAt }, version }: CreatedTask): number {
  // An order to write the row again may be later than the change.
  return outdatedAt === null ? version : Math.min(outdatedAt, version);
}

/**
 * Returns the next time at which an outdated row is to be written to the index after a failure: the first of a fixed
 * list of times that is later than `triedAt`, in Unix milliseconds. The list has the moment at which the row became
 * outdated, and then 5, 20, 80 … seconds after it: the age of the row grows by a factor of four, but no wait is longer
 * than 7 days. The very first write is made later than the first time of the list, by the delay of `firstWriteAt`. All
 * times follow from the stored task, so that a failed write need not be stored.
 */
export function nextWriteAfter({ indexRow, version }: TaskRecord, triedAt: number): number {
  const since = indexRow.outdatedAt ?? version;
  if (since > triedAt) return since;
  let ageMs = FIRST_RETRY_MS;
  while (since + ageMs <= triedAt) ageMs = Math.min(GROWTH * ageMs, ageMs + MAX_RETRY_MS);
  return since + ageMs;
}

/**
 * Returns the time at which the row of a task is deleted from the index, in Unix milliseconds. The row of a task whose
 * callback has failed is stored as long as the task itself. `Infinity` while the task is open, and while an attempt of
 * its callback or a refund has still to be made.
 */
export function rowExpiresAt(record: CreatedTask, { indexRetentionMs }: Policy): number {
  if (!isTerminal(record) || !isSettled(record)) return Infinity;
  const { version, expiresAt, callback } = record;
  if (callback?.state.kind === "failed") return expiresAt;
  return Math.min(expiresAt, version + indexRetentionMs);
}
