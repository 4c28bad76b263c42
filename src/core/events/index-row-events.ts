// Events about the index row. They change nothing that readers see, so the task keeps its version.

import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { IndexRowEndedEvent, RewriteIndexRowEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { NO_INDEX_ROW } from "../record/index-row-state.ts";
import { failedRow, outdatedSince, rowExpiresAt, writtenRow } from "../plans/index-row-schedule.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Handles the end of a write of the index row. A success usually changes nothing in the record: the task's Durable
 * Object keeps the written version in memory, and the next change of the task stores it. But if an earlier write of the
 * row has failed, or may have succeeded without the relay knowing, the written version is stored at once, so that a
 * restarted object does not repeat the write. Of several failures only the first is stored.
 */
export function endIndexRow(
  record: TaskRecord | null,
  { version, isWritten, isRepeat }: IndexRowEndedEvent,
): Decision {
  if (record === null || record.status === "charging") return unchanged(record);
  if (record.version !== version) return unchanged(record);
  const { indexRow } = record;
  const hasFailed = indexRow.hasFailed;
  if (isWritten) {
    const isStored = isRepeat || hasFailed;
    return isStored ? changed({ ...record, indexRow: writtenRow(version) }) : unchanged(record);
  }
  return hasFailed ? unchanged(record) : changed({ ...record, indexRow: failedRow(indexRow) });
}

/**
 * Plans an immediate write of the task's index row, to repair the index. Changes nothing when a write is already
 * planned, unless `isAlwaysDue` is true. The event is rejected with `unknown_task` when there is no task, or when its
 * row would have expired.
 */
export function rewriteIndexRow(
  record: TaskRecord | null,
  { isAlwaysDue }: RewriteIndexRowEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (rowExpiresAt(record, policy) <= now) return UNKNOWN_TASK;
  const { indexRow, version } = record;
  if (!isAlwaysDue && indexRow.version !== version) return unchanged(record);
  return changed({ ...record, indexRow: outdatedSince(NO_INDEX_ROW, now) });
}
