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
 * Delay in milliseconds from the creation of a task to the first write of its row in the index, while the task
 * is open. A task that ends sooner, its callback included, is written only once.
 */
const FIRST_ROW_DELAY_MS = 30 * SECOND_MS;
/** Delay in milliseconds from the first change that the index row of an open task lacks to the write of the row. */
const NEXT_ROW_DELAY_MS = 45 * SECOND_MS;
/**
 * Delay in milliseconds from the end of a task to the write of the end to the index, while its callback is
 * still being sent or its credits are being refunded; a callback that succeeds at once saves this write.
 */
const SENDING_DELAY_MS = 5 * SECOND_MS;
const FIRST_RETRY_MS = 5 * SECOND_MS;
/**
 * Factor between the times of two successive writes to the index after a failure, each counted from the
 * moment at which the row became outdated: 5 s, 20 s, 80 s …
 */
const GROWTH = 4;
const MAX_RETRY_MS = 7 * DAY_MS;

/**
 * Returns the state of an index row that became outdated at `now`, i.e. that no longer shows the present state of its
 * task. The field `outdatedAt` holds this time. The first write follows after a delay (`firstWriteAt`), further ones at
 * the times that `nextWriteAfter` computes until a write succeeds.
 */
export function outdatedSince(indexRow: IndexRowState, now: number): IndexRowState {
  return { ...indexRow, outdatedAt: now, hasFailed: false };
}

/**
 * Returns the newest version of the task's record that the index has, as far as the record and this instance of
 * the task's object know; 0 when they know of none.
 */
export function indexedVersion({ indexRow }: TaskRecord, policy: Policy): number {
  return Math.max(indexRow.version, policy.indexedVersion);
}

/**
 * Returns the changed record with the version that the index has, and with the time at which the row became
 * outdated. That time stays while the first write after it is still ahead or has failed. Otherwise the write
 * may have succeeded, and the waits between its repetitions count from the new change.
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

/** Returns the state of an index row that has the present version of the task's record. */
export function writtenRow(version: number): IndexRowState {
  return { ...NO_INDEX_ROW, version };
}

/** Tells whether the index certainly lacks the row: its first write is still ahead, or has failed. */
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
 * Returns the time of the first write of an outdated row to the index, in Unix milliseconds. The write of an
 * open task is counted from the first change that the row lacks, so that a later change does not put it off:
 * to set an alarm later is billed as a written row. The write of a task that has ended is counted from its
 * last change.
 */
export function firstWriteAt(record: CreatedTask, policy: Policy): number {
  if (!isOpen(record)) return record.version + (isSettled(record) ? 0 : SENDING_DELAY_MS);
  const isFirst = indexedVersion(record, policy) === 0;
  const delayMs = isFirst ? FIRST_ROW_DELAY_MS : NEXT_ROW_DELAY_MS;
  return firstMissingAt(record) + delayMs;
}

/** Returns the time of the first change that the index row lacks, in Unix milliseconds. */
function firstMissingAt({ indexRow: { outdatedAt }, version }: CreatedTask): number {
  // An order to write the row again may be later than the change.
  return outdatedAt === null ? version : Math.min(outdatedAt, version);
}

/**
 * Returns the time of the first planned write of an outdated row to the index that is later than `triedAt`, in
 * Unix milliseconds. The grid of these times begins when the row becomes outdated, and goes on 5, 20, 80 … seconds
 * after that moment: it grows by a factor of four, but no wait is longer than 7 days. The first write is later than
 * the beginning of the grid, by the delay of `firstWriteAt`. All times follow from the stored task,
 * so that a failed write need not be stored.
 */
export function nextWriteAfter({ indexRow, version }: TaskRecord, triedAt: number): number {
  const since = indexRow.outdatedAt ?? version;
  if (since > triedAt) return since;
  let ageMs = FIRST_RETRY_MS;
  while (since + ageMs <= triedAt) ageMs = Math.min(GROWTH * ageMs, ageMs + MAX_RETRY_MS);
  return since + ageMs;
}

/**
 * Returns the time at which the row of a task is deleted from the index, in Unix milliseconds; `Infinity`
 * while the task is open or an attempt of its callback or a refund is left to make. The row of a task whose
 * callback failed stays as long as the task itself.
 */
export function rowExpiresAt(record: CreatedTask, { indexRetentionMs }: Policy): number {
  if (!isTerminal(record) || !isSettled(record)) return Infinity;
  const { version, expiresAt, callback } = record;
  if (callback?.state.kind === "failed") return expiresAt;
  return Math.min(expiresAt, version + indexRetentionMs);
}
