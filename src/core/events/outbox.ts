// Events about the index and about notices. They change nothing that readers see, so the task keeps its
// version.

import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { NoticeEndedEvent, PublishEndedEvent, RepublishEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { afterTry } from "../record/notice.ts";
import { UNPUBLISHED } from "../record/publication.ts";
import { markPublished, missingSince, rowExpiresAt } from "../record/row-schedule.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Records which version of the task's record the index has stored in the row. A failed write changes nothing.
 */
export function endPublication(
  record: TaskRecord | null,
  { version, isPublished }: PublishEndedEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging" || !isPublished) return unchanged(record);
  return changed({ ...record, publication: markPublished(record, version, now) });
}

/**
 * Applies the result of a try to send a notice to the operator: removes a notice that has arrived or was tried
 * 10 times, else plans its next try. Changes nothing when the task has no such notice, e.g. when it belonged
 * to an erased task with the same id.
 */
export function endNotice(
  record: TaskRecord | null,
  event: NoticeEndedEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return unchanged(record);
  const { notices } = record;
  const isKnown = notices.some((one) => one.kind === event.kind && one.version === event.version);
  if (!isKnown) return unchanged(record);
  return changed({ ...record, notices: afterTry(notices, event, now) });
}

/**
 * Plans a write of the task's row to the index at once, to repair the index. Changes nothing when a write
 * is already planned, unless `isAlwaysDue` is true. The event is rejected with `unknown_task` when there is
 * no task, or when its row would have expired.
 */
export function republish(
  record: TaskRecord | null,
  { isAlwaysDue }: RepublishEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (rowExpiresAt(record, policy) <= now) return UNKNOWN_TASK;
  const { publication, version } = record;
  if (!isAlwaysDue && publication.version !== version) return unchanged(record);
  return changed({ ...record, publication: missingSince(UNPUBLISHED, now) });
}
