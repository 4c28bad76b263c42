import { changed, type Decision, unchanged } from "./decision.ts";
import type { QueueLeftEvent } from "./event.ts";
import { planRetry } from "../record/retry.ts";
import { needsNoPlace } from "../plans/queue-places.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Returns the effect of the answer to an order to leave the queues of a submission. If not all queues have confirmed
 * it, the next order is planned. The version of the record does not rise, because readers do not see the places.
 */
export function endQueueLeave(
  record: TaskRecord | null,
  { submissionId, isLeft }: QueueLeftEvent,
  now: number,
): Decision {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== submissionId) return unchanged(record);
  const { stay, ...known } = submission;
  if (stay === undefined || !needsNoPlace(record)) return unchanged(record);
  return changed({
    ...record,
    submission: isLeft ? known : { ...known, stay: { ...stay, leave: planRetry(stay.leave, now) } },
  });
}
