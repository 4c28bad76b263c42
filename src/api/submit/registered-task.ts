import type { Applied, SubmissionReply, TaskReply } from "../../objects/task/reply.ts";
import { unavailable } from "../http/object-call.ts";
import { requireUnusedKey } from "../tasks/register-task.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";
import { bringRemembered } from "./bring-outcome.ts";
import type { SubmissionPlan, SubmitCall } from "./submission-plan.ts";

const NOT_RECORDED = "The task's object has not recorded this submission, so nothing was sent.";

/** The task of a submission after its registration. */
export interface RegisteredTask {
  readonly task: TaskReply;
  /** True when this submission is the one that is stored with the task, so that its call is sent. */
  readonly isNew: boolean;
  /** The submission that is stored with the task. Null when the task was not submitted through the relay. */
  readonly submission: SubmissionReply | null;
}

/**
 * Registers the task of a submission, and charges its price.
 * @param onUnknown is called when it is not known whether the task's object has recorded the submission.
 * @throws Problem when the task's object refuses the registration, or could not be reached.
 */
export async function registeredTask(
  { event, submissionId, isNamedByKey }: SubmissionPlan,
  submitCall: SubmitCall,
  onUnknown: () => unknown,
): Promise<RegisteredTask> {
  const { caller, env } = submitCall;
  await bringRemembered(event.id, submitCall);
  const applied = await taskClient(env, event.id)
    .apply(event, caller)
    .catch(async (error: unknown) => {
      await onUnknown();
      throw error;
    });
  if (isNamedByKey) requireUnusedKey(applied);
  const { isNew, task } = accepted(applied);
  const submission = submissionOf(applied);
  if (isNew && submission?.id !== submissionId) {
    throw unavailable(NOT_RECORDED, "earlier_release");
  }
  return { task, isNew, submission };
}

function submissionOf(applied: Applied): SubmissionReply | null {
  return applied.kind === "recorded" || applied.kind === "repeated"
    ? (applied.submission ?? null)
    : null;
}
