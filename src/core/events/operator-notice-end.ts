import { changed, type Decision, unchanged } from "./decision.ts";
import type { NoticeEndedEvent } from "./event.ts";
import { afterTry } from "../record/operator-notice.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Returns the effect of one try to send an operator notice. A notice that was accepted, or whose tenth try failed,
 * is removed; for any other the next try is planned. Nothing changes when the task has no such notice, e.g. because
 * the notice was about an erased task with the same id.
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
