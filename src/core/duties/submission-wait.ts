import { waitEndsAt } from "../record/submission.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../record/task.ts";
import type { Policy } from "../policy.ts";
import { askKeptJob } from "./ask-kept-job.ts";
import type { Duty, EventStep } from "./duty.ts";

/**
 * Returns the step that ends the wait of a submission. A call that waits to be sent fails the task when it was not begun
 * in time. While the upstream may still answer, the step is due when the time for the answer is over: it makes the
 * outcome unknown or, if nothing can then show whether there is a job, fails the task (events/submission-end.ts). While
 * the outcome is unknown, the step fails the task when no job has become known for `SUBMIT_UNKNOWN_MINUTES`. Null for a
 * submission in any other state, and while a poll of a job that a hook has named is planned: a task whose outcome is
 * unknown does not fail before this poll, even if the limit of the connection defers it.
 */
export function endSubmissionWait(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isOpen(record) || record.submission === null) return null;
  const { id: submissionId, state } = record.submission;
  const dueAt = waitEndsAt(record.submission);
  if (dueAt === null) return null;
  if (state.kind === "sending") {
    const outcome = { kind: "unknown", statusCode: null } as const;
    const event = { type: "submit_ended", submissionId, outcome } as const;
    return { dueAt, step: () => ({ kind: "event", event }) };
  }
  if (state.kind === "unknown" && askKeptJob(record, policy) !== null) return null;
  const event = { type: "submission_lost" } as const;
  return { dueAt, step: () => ({ kind: "event", event }) };
}

/**
 * Returns true while the submission of a task waits to be sent, for its answer or for news of its job. The task then
 * ends with this wait, and not at its deadline.
 */
export function awaitsJob({ submission }: OpenTask): boolean {
  return waitEndsAt(submission) !== null;
}
