import { changed, type Decision, unchanged } from "./decision.ts";
import type { NoticeEndedEvent } from "./event.ts";
import { afterTry } from "../record/operator-notice.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Applies the result of a try to send an operator notice: removes a notice that has arrived or was tried 10
 * times, else plans its next try. Changes nothing when the task has no such notice, e.g. when it belonged to an
 * erased task with the same id.
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
