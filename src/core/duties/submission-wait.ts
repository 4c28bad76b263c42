import { sendingEndsAt, unknownOutcomeOf } from "../record/submission.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../record/task.ts";
import type { Policy } from "../policy.ts";
import { askKeptJob } from "./ask-kept-job.ts";
import type { Duty, EventStep } from "./duty.ts";

/**
 * Returns the step that ends the wait for the outcome of a submission. While the upstream may still answer, the step is
 * due when the time for the answer is over: it makes the outcome unknown or, if nothing can then show whether there is
 * a job, fails the task (events/submission-end.ts). While the outcome is unknown, the step fails the task when no job
 * has become known for `SUBMIT_UNKNOWN_MINUTES`. Null for a submission in any other state, and while a poll of a job
 * that a hook has named is planned: the task does not fail before this poll, even if the limit of the connection defers
 * it.
 */
export function endSubmissionWait(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isOpen(record) || record.submission === null) return null;
  const { id: submissionId } = record.submission;
  const endsAt = sendingEndsAt(record.submission);
  if (endsAt !== null) {
    const outcome = { kind: "unknown", statusCode: null } as const;
    const event = { type: "submit_ended", submissionId, outcome } as const;
    return { dueAt: endsAt, step: () => ({ kind: "event", event }) };
  }
  const unknown = unknownOutcomeOf(record.submission);
  if (unknown === null || askKeptJob(record, policy) !== null) return null;
  const event = { type: "submission_lost" } as const;
  return { dueAt: unknown.failsAt, step: () => ({ kind: "event", event }) };
}

/** Returns true while it is unknown whether the submission of a task has started a job. */
export function awaitsJob({ submission }: OpenTask): boolean {
  return sendingEndsAt(submission) !== null || unknownOutcomeOf(submission) !== null;
}
