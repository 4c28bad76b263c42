import { commit, type Decision, nothing, UNKNOWN_TASK } from "./decision.ts";
import type { NoticeEndedEvent, PublishEndedEvent } from "./event.ts";
import { afterTry } from "./notice.ts";
import { published, UNPUBLISHED, unpublished } from "./publication.ts";
import { isTerminal, type TaskRecord } from "./task.ts";

// What the index and the operator have been told is no change of the task: its version stays.

export function endPublication(
  record: TaskRecord | null,
  { version, isPublished }: PublishEndedEvent,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return nothing(record);
  const { publication } = record;
  const next = isPublished ? published(publication, version) : unpublished(publication, now);
  return commit({ ...record, publication: next });
}

export function endNotice(
  record: TaskRecord | null,
  event: NoticeEndedEvent,
  now: number,
): Decision {
  if (record === null || !isTerminal(record)) return nothing(record);
  return commit({ ...record, notices: afterTry(record.notices, event, now) });
}

/** The operator repairs the index: the row is written again. */
export function republish(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  return commit({ ...record, publication: UNPUBLISHED });
}
