import type { SubmitOutcome } from "../../core/events/event.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import type { SubmitAnswer } from "../../outbound/http.ts";
import { shownAnswer } from "./shown-answer.ts";
import type { SubmissionPlan, SubmitCall } from "./submission-plan.ts";
import {
  linkedBody,
  NOT_AGAIN,
  statusUrlOf,
  type Submitted,
  unknownOutcome,
  unreachable,
} from "./submitted.ts";

/** A submission whose call was sent, with the whole response of the upstream. */
export interface EndedSubmission {
  /** The upstream's response. Null when there was none. */
  readonly answer: Pick<SubmitAnswer, "status" | "headers" | "bytes"> | null;
  readonly outcome: SubmitOutcome;
  /** True when the task's object has stored the outcome. */
  readonly isStored: boolean;
  /** The task of the submission. Null when it was erased. */
  readonly task: TaskReply | null;
}

/**
 * Returns the upstream's response for the caller of a submission.
 * @param toBody makes the body of the response.
 * @throws Problem when the caller cannot get the response, because nothing was sent or the outcome is unknown.
 */
export async function answered(
  { answer, outcome, isStored, task }: EndedSubmission,
  { event, place }: SubmissionPlan,
  submitCall: SubmitCall,
  toBody: (bytes: Uint8Array<ArrayBuffer>) => Submitted["body"],
): Promise<Submitted> {
  if (outcome.kind === "not_sent" && isStored) throw unreachable();
  if (answer === null || outcome.kind === "unknown" || outcome.kind === "not_sent") {
    throw await unknownOutcome(event, task, submitCall);
  }
  const { status, headers, bytes } = shownAnswer(answer, outcome, place, submitCall.caller);
  // A repetition would find a task that does not know the answer yet.
  if (!isStored) headers.set("x-should-retry", NOT_AGAIN["x-should-retry"]);
  const statusUrl = task === null ? null : await statusUrlOf(event, task, submitCall);
  const body = toBody(linkedBody(bytes, place.connection, submitCall));
  return { taskId: event.id, status, headers, isReplayed: false, statusUrl, body };
}
