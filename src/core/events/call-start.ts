import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { CallStartedEvent } from "./event.ts";
import { finishUnsent, QUEUE_TIMEOUT } from "./finish.ts";
import type { Policy } from "../policy.ts";
import { type SealedKey, sealedKeyOf } from "../record/customer-key.ts";
import { sentNow } from "../record/submission.ts";
import { isOpen, isToBeCharged, nextVersion, type TaskRecord } from "../record/task.ts";

/** What the object that makes a call has to do with it. */
export type CallStart =
  /** The call is sent now. Its outcome counts as unknown from `endsAt` on, in Unix milliseconds. */
  | {
      readonly kind: "send";
      readonly endsAt: number;
      /** Key of the customer, encrypted. Null when the key of the connection is used. */
      readonly customerKey: SealedKey | null;
      /** Creation time of the task's record, in Unix milliseconds, which is part of the keys of its outputs. */
      readonly recordedAt: number;
    }
  /** The price of the task is still being charged: the object asks again later. */
  | { readonly kind: "wait" }
  /** The call is never sent, and can be forgotten. */
  | { readonly kind: "gone" };

const GONE: CallStart = { kind: "gone" };

/**
 * Returns the effect of the order to begin the call of a submission. A call that has waited counts as sent from now on; a
 * call whose time to wait is over fails its task. Nothing else changes: a call that is being sent stays so, because its
 * object may ask again after an answer of the task was lost.
 */
export function startCall(
  record: TaskRecord | null,
  { submissionId }: CallStartedEvent,
  policy: Policy,
  now: number,
): Decision {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== submissionId) return UNKNOWN_TASK;
  if (!isOpen(record) || submission.state.kind !== "queued") return unchanged(record);
  if (submission.state.failsAt <= now) {
    return changed(finishUnsent(record, QUEUE_TIMEOUT, policy, now));
  }
  const version = nextVersion(record, now);
  return changed({ ...record, version, submission: sentNow(submission, policy, now) });
}

/** Returns what becomes of the call of a submission after the order to begin it (`startCall`). */
export function callStartOf(record: TaskRecord | null, submissionId: string): CallStart {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== submissionId) return GONE;
  const { state } = submission;
  if (record.status === "charging") return isToBeCharged(record) ? { kind: "wait" } : GONE;
  if (state.kind !== "sending") return GONE;
  const { recordedAt } = record;
  return { kind: "send", endsAt: state.endsAt, customerKey: sealedKeyOf(record), recordedAt };
}
