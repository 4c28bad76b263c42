import { changed, type Decision, unchanged } from "./decision.ts";
import type { HookRefusedEvent } from "./event.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { noteRefusedHook } from "../record/tracking.ts";

/**
 * Stores in the record of an open task that a hook was refused, and the reason, for the operator. The version
 * stays, because the index row shows none of this.
 */
export function refuseHook(
  record: TaskRecord | null,
  { connection, reason }: HookRefusedEvent,
  now: number,
): Decision {
  if (record === null || !isOpen(record) || record.upstream?.connection !== connection) {
    return unchanged(record);
  }
  const tracking = noteRefusedHook(record.tracking, reason, now);
  return tracking === record.tracking ? unchanged(record) : changed({ ...record, tracking });
}
