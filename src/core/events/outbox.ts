import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { NoticeEndedEvent, PublishEndedEvent } from "./event.ts";
import { afterTry } from "../record/notice.ts";
import { published, UNPUBLISHED, unpublished } from "../record/publication.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";

// What the index and the operator have been told is no change of the task: its version stays.

export function endPublication(
  record: TaskRecord | null,
  { version, isPublished }: PublishEndedEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return unchanged(record);
  const { publication } = record;
  const next = isPublished ? published(publication, version) : unpublished(publication, now);
  return changed({ ...record, publication: next });
}

export function endNotice(
  record: TaskRecord | null,
  event: NoticeEndedEvent,
  now: number,
): Decision {
  if (record === null || !isTerminal(record)) return unchanged(record);
  return changed({ ...record, notices: afterTry(record.notices, event, now) });
}

/** The operator repairs the index: the row is written again. */
export function republish(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  return changed({ ...record, publication: UNPUBLISHED });
}
