import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { CallStartedEvent } from "./event.ts";
import { finishUnsent, QUEUE_TIMEOUT } from "./finish.ts";
import type { Policy } from "../policy.ts";
import { type SealedKey, sealedKeyOf } from "../record/customer-key.ts";
import { sentNow, type Submission } from "../record/submission.ts";
import {
  isOpen,
  isToBeCharged,
  nextVersion,
  type OpenTask,
  type TaskRecord,
} from "../record/task.ts";
import type { Upstream } from "../record/upstream.ts";

/** Order of the task to the sender of its call. */
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
  /** The price of the task is still being charged: the sender asks again later. */
  | { readonly kind: "wait" }
  /** The call is never sent, and can be forgotten. */
  | { readonly kind: "gone" };

const GONE: CallStart = { kind: "gone" };

/**
 * Returns the effect of the order to begin the call of a submission. A call that has waited counts as sent from now on, to
 * the connection that has a place for it; a call whose time to wait is over fails its task. Nothing else changes: a call
 * that is being sent stays so, because its sender may ask again after an answer of the task was lost. An order for
 * another attempt than the one that waits has no effect.
 */
export function startCall(
  record: TaskRecord | null,
  event: CallStartedEvent,
  policy: Policy,
  now: number,
): Decision {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== event.submissionId) return UNKNOWN_TASK;
  if (!isOpen(record) || submission.state.kind !== "queued") return unchanged(record);
  if (attemptOf(event) < presentAttempt(submission)) return unchanged(record);
  if (submission.state.failsAt <= now) {
    // If the caller waits, the submission is about to be withdrawn (`endLostSubmission`).
    if (submission.isCall !== true) return unchanged(record);
    return changed(finishUnsent(record, QUEUE_TIMEOUT, policy, now));
  }
  const version = nextVersion(record, now);
  const upstream = upstreamOf(record, submission, event);
  const sent = sentNow(withAttempt(submission, event), policy, now);
  return changed({ ...record, version, upstream, submission: sent });
}

/** Returns the upstream of a call that is sent now: the connection that has a place for it, if it was in queues. */
function upstreamOf(
  { upstream }: OpenTask,
  { stay }: Submission,
  { connection }: CallStartedEvent,
): Upstream | null {
  if (stay === undefined || connection === undefined || upstream === null) return upstream;
  return { ...upstream, connection };
}

function presentAttempt({ stay }: Submission): number {
  return stay?.attempt ?? 1;
}

function attemptOf({ attempt = 1 }: CallStartedEvent): number {
  return attempt;
}

/** Returns a submission whose present attempt is the one that is begun. */
function withAttempt(submission: Submission, event: CallStartedEvent): Submission {
  const { stay } = submission;
  return stay === undefined
    ? submission
    : { ...submission, stay: { ...stay, attempt: attemptOf(event) } };
}

/** Returns what becomes of the call of a submission after the order to begin it (`startCall`). */
export function callStartOf(record: TaskRecord | null, event: CallStartedEvent): CallStart {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== event.submissionId) return GONE;
  const { state } = submission;
  if (record.status === "charging") return isToBeCharged(record) ? { kind: "wait" } : GONE;
  if (state.kind !== "sending" || attemptOf(event) !== presentAttempt(submission)) return GONE;
  const { recordedAt } = record;
  return { kind: "send", endsAt: state.endsAt, customerKey: sealedKeyOf(record), recordedAt };
}
