// Events of the index and of notices. They do not change what readers see, so the version of the task
// stays.

import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { NoticeEndedEvent, PublishEndedEvent } from "./event.ts";
import { afterTry } from "../record/notice.ts";
import { markPublished, planRewrite, UNPUBLISHED } from "../record/publication.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";

/** Records that the index has a row, or plans the next write after a failed one. */
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

/** Removes a notice that the operator has received, or plans the next try to send it. */
export function endNotice(
  record: TaskRecord | null,
  event: NoticeEndedEvent,
  now: number,
): Decision {
  if (record === null || !isTerminal(record)) return unchanged(record);
  return changed({ ...record, notices: afterTry(record.notices, event, now) });
}

/** Plans another write of the task's row, to repair the index. */
export function republish(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  return changed({ ...record, publication: UNPUBLISHED });
}
