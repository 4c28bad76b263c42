import { changed, type Decision, unchanged } from "./decision.ts";
import type { CancelEndedEvent, UnconfirmedCancel } from "./event.ts";
import { finishConfirmed } from "./finish.ts";
import type { Policy } from "../policy.ts";
import {
  askingOf,
  type AnsweredKind,
  type Cancellation,
  withAnswer,
  withoutAnswer,
} from "../record/cancellation.ts";
import { isOpen, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { sameJob } from "../record/upstream.ts";

/** New state of a cancellation for each kind of answer of the upstream that does not confirm the cancellation. */
const STATES: Readonly<Record<Exclude<UnconfirmedCancel["kind"], "unanswered">, AnsweredKind>> = {
  accepted: "accepted",
  ended: "ended",
  refused: "refused",
  unclear: "unknown",
};

/**
 * Returns the effect of the upstream's answer to a cancellation. A confirmation fails the task. After any other answer
 * the task goes on, and its job is polled at once, because the job may have ended or been canceled nevertheless. If no
 * answer came, the call is repeated, at most twice. An answer about another job than the attached one changes nothing.
 */
export function endCancel(
  record: TaskRecord | null,
  { job, answer }: CancelEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record) || record.cancellation === null) return unchanged(record);
  const { cancellation, upstream } = record;
  if (askingOf(cancellation) === null || !sameJob(upstream?.job ?? null, job)) {
    return unchanged(record);
  }
  if (answer.kind === "canceled") return changed(finishConfirmed(record, policy, now));
  return changed(withCancellation(record, afterAnswer(cancellation, answer, policy, now), now));
}

/** Returns the cancellation of a task after the upstream has answered without confirming it, or has not answered. */
function afterAnswer(
  known: Cancellation,
  { kind, statusCode }: UnconfirmedCancel,
  { polledAt }: Policy,
  now: number,
): Cancellation {
  // A poll that was made in the same millisecond does not show the effect of the call.
  const pollFrom = Math.max(now, polledAt + 1);
  return kind === "unanswered"
    ? withoutAnswer(known, statusCode, pollFrom, now)
    : withAnswer(known, STATES[kind], statusCode, pollFrom, now);
}

/**
 * Returns the task with a changed cancellation. The version of the task rises, unless the call to the upstream is
 * merely repeated: readers do not see that.
 */
function withCancellation(record: OpenTask, cancellation: Cancellation, now: number): OpenTask {
  const isShown = askingOf(cancellation) === null;
  return { ...record, cancellation, ...(isShown && { version: nextVersion(record, now) }) };
}
