import type { Policy } from "../policy.ts";
import { DAY_MS, SECOND_MS } from "../time.ts";
import { type IndexRowState, NO_INDEX_ROW } from "./index-row-state.ts";
import { type CreatedTask, isSettled, isTerminal, type TaskRecord } from "./task.ts";

const FIRST_RETRY_MS = 5 * SECOND_MS;
/**
 * Factor between the times of two successive writes to the index after a failure, each counted from the
 * moment at which the row became outdated: 5 s, 20 s, 80 s …
 */
const GROWTH = 4;
const MAX_RETRY_MS = 7 * DAY_MS;

/**
 * Returns the state of an index row that became outdated at `now`. The field `retryAt` holds this time. The first
 * write follows after a delay (duties/index-row-write.ts), further ones at the times that `nextWriteAfter` computes
 * until a write succeeds.
 */
export function outdatedSince(publication: IndexRowState, now: number): IndexRowState {
  return { ...publication, retryAt: now, tries: 0 };
}

/**
 * Returns the state of a task's index row that has at least the given version of the task's record. When the record
 * has a later version by now, the row counts as outdated from `now` on.
 */
export function markWritten(
  { publication, version: current }: CreatedTask,
  version: number,
  now: number,
): IndexRowState {
  const next = { ...NO_INDEX_ROW, version: Math.max(version, publication.version) };
  return next.version === current ? next : outdatedSince(next, now);
}

/**
 * Returns the changed record with the time at which its index row became outdated; a time that is stored
 * already stays.
 */
export function noteOutdatedRow(
  before: TaskRecord | null,
  after: TaskRecord,
  now: number,
): TaskRecord {
  const isNoted = before !== null && before.publication.version !== before.version;
  if (isNoted || before?.version === after.version) return after;
  return { ...after, publication: outdatedSince(after.publication, now) };
}

/**
 * Returns the time of the first planned write of an outdated row to the index that is later than `triedAt`, in
 * Unix milliseconds. The grid of these times begins when the row becomes outdated, and goes on 5, 20, 80 … seconds
 * after that moment: it grows by a factor of four, but no wait is longer than 7 days. The first write is later than
 * the beginning of the grid, by a delay that duties/index-row-write.ts adds. All times follow from the stored task,
 * so that a failed write need not be stored.
 */
export function nextWriteAfter({ publication, version }: TaskRecord, triedAt: number): number {
  const since = publication.retryAt > 0 ? publication.retryAt : version;
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
