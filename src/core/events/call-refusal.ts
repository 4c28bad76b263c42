import { changed, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { CallRefusedEvent } from "./event.ts";
import { finishUnsent, QUEUE_TIMEOUT } from "./finish.ts";
import { endSubmission } from "./submission-end.ts";
import type { Policy } from "../policy.ts";
import type { QueueStay } from "../record/queue-stay.ts";
import { queuedAgain, type Submission, withRefusedAttempt } from "../record/submission.ts";
import {
  addressedName,
  isOpen,
  nextVersion,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";

/**
 * Order of the task to the sender of a refused call: ask for a place for the next attempt (`again`), or send nothing more
 * (`gone`).
 */
export type CallRefusalReply = "again" | "gone";

/**
 * Returns the effect of the proof that an attempt to send a call has started nothing: the call waits for another
 * attempt. If the time to wait is over, the task fails. If the outcome counted as unknown already, the task fails as after
 * any refusal: no attempt follows an unknown outcome. A refusal of an earlier attempt changes nothing.
 */
export function refuseCall(
  record: TaskRecord | null,
  { submissionId, attempt, connection, statusCode, refusal }: CallRefusedEvent,
  policy: Policy,
  now: number,
): Decision {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== submissionId) return UNKNOWN_TASK;
  const { state, stay } = submission;
  if (!isOpen(record) || stay?.attempt !== attempt) return unchanged(record);
  const refused = { connection, at: now, statusCode, refusal };
  const task = { ...record, submission: withRefusedAttempt(submission, refused) };
  switch (state.kind) {
    case "sending":
      return changed(waitAgain(task, stay, policy, now));
    case "unknown": {
      const outcome = { kind: "refused", statusCode, refusal } as const;
      return endSubmission(task, { type: "submit_ended", submissionId, outcome }, policy, now);
    }
    case "queued":
    case "accepted":
    case "unsent":
      return unchanged(record);
  }
}

/** Returns a task whose call waits for another attempt, or that fails because the call may wait no longer. */
function waitAgain(
  task: OpenTask & { readonly submission: Submission },
  stay: QueueStay,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const isOver = task.submission.isCall === true && stay.startBy <= now;
  if (isOver) return finishUnsent(task, QUEUE_TIMEOUT, policy, now);
  const { upstream } = task;
  const addressed = upstream && { ...upstream, connection: addressedName(task, upstream) };
  const submission = queuedAgain(task.submission, stay, now);
  return { ...task, version: nextVersion(task, now), upstream: addressed, submission };
}

/** Returns what the sender of a call has to do after the report that an attempt was refused (`refuseCall`). */
export function callRefusalReplyOf(
  record: TaskRecord | null,
  { submissionId, attempt }: CallRefusedEvent,
): CallRefusalReply {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== submissionId || !isOpen(record)) return "gone";
  const { state, stay } = submission;
  return state.kind === "queued" && stay?.attempt === attempt + 1 ? "again" : "gone";
}
