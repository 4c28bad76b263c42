// Events about the index row. They change nothing that readers see, so the task keeps its version.

import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { IndexRowEndedEvent, RewriteIndexRowEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { NO_INDEX_ROW } from "../record/index-row-state.ts";
import { markWritten, outdatedSince, rowExpiresAt } from "../record/index-row-schedule.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Records which version of the task's record the index has stored in the row. A failed write changes nothing.
 */
export function endIndexRow(
  record: TaskRecord | null,
  { version, isWritten }: IndexRowEndedEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging" || !isWritten) return unchanged(record);
  return changed({ ...record, publication: markWritten(record, version, now) });
}

/**
 * Plans a write of the task's index row at once, to repair the index. Changes nothing when a write is already
 * planned, unless `isAlwaysDue` is true. The event is rejected with `unknown_task` when there is no task, or
 * when its row would have expired.
 */
export function rewriteIndexRow(
  record: TaskRecord | null,
  { isAlwaysDue }: RewriteIndexRowEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (rowExpiresAt(record, policy) <= now) return UNKNOWN_TASK;
  const { publication, version } = record;
  if (!isAlwaysDue && publication.version !== version) return unchanged(record);
  return changed({ ...record, publication: outdatedSince(NO_INDEX_ROW, now) });
}
