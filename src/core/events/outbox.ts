// Writing a task to the index and notifying the operator does not change it, so its version stays.

import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { NoticeEndedEvent, PublishEndedEvent } from "./event.ts";
import { afterTry } from "../record/notice.ts";
import { markPublished, planRewrite, UNPUBLISHED } from "../record/publication.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";

/** Records that the index has a row, or plans the next write. */
export function endPublication(
  record: TaskRecord | null,
  { version, isPublished }: PublishEndedEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return unchanged(record);
  const { publication } = record;
  const next = isPublished ? markPublished(publication, version) : planRewrite(publication, now);
  return changed({ ...record, publication: next });
}

/** Removes a notice that the operator has, or plans its next try. */
export function endNotice(
  record: TaskRecord | null,
  event: NoticeEndedEvent,
  now: number,
): Decision {
  if (record === null || !isTerminal(record)) return unchanged(record);
  return changed({ ...record, notices: afterTry(record.notices, event, now) });
}

/** Has the row of a task written again, to repair the index. */
export function republish(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  return changed({ ...record, publication: UNPUBLISHED });
}
