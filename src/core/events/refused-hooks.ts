import { changed, type Decision, unchanged } from "./decision.ts";
import type { HookRefusedEvent } from "./event.ts";
import { addressedName, isOpen, type TaskRecord } from "../record/task.ts";
import { noteRefusedHook } from "../record/tracking.ts";

/**
 * Returns the effect of a hook that was refused: the reason is stored in the record of an open task, so that the
 * operator can read it. The version of the record does not rise, because the index row does not contain refused hooks.
 */
export function refuseHook(
  record: TaskRecord | null,
  { connection, reason }: HookRefusedEvent,
  now: number,
): Decision {
  if (record === null || !isOpen(record) || record.upstream === null) return unchanged(record);
  if (addressedName(record, record.upstream) !== connection) return unchanged(record);
  const tracking = noteRefusedHook(record.tracking, reason, now);
  return tracking === record.tracking ? unchanged(record) : changed({ ...record, tracking });
}
