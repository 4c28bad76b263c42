import { type Policy, startAt } from "../policy.ts";
import { sealedKeyOf } from "../record/customer-key.ts";
import { isSending, unknownOutcomeOf } from "../record/submission.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { keptJobToAsk } from "../polls/kept-job.ts";
import type { Duty } from "./duty.ts";
import type { PollStep } from "./poll.ts";

/**
 * Returns the poll, at the deadline of a task without an attached job, of a job that only a hook has named. Such a job
 * is polled only if the provider's answers show for which task a job was submitted (events/kept-jobs.ts). While the
 * outcome of the task's submission is unknown, the poll is made as soon as a hook names a job, and again until the task
 * fails. Null while the upstream may still answer the submission, and when there is no such job. Null also when the
 * relay is paused until the last time for this poll, because nothing is polled then; the task still fails.
 */
export function askKeptJob(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isOpen(record) || isSending(record.submission)) return null;
  const asked = keptJobToAsk(record, policy);
  if (asked === null) return null;
  const { id: taskId, createdAt, submission } = record;
  const unknown = unknownOutcomeOf(submission);
  const plannedAt = unknown === null ? record.deadlineAt : unknown.askAt;
  const endAt = unknown === null ? record.deadlineAt : unknown.failsAt;
  if (plannedAt === null || startAt(plannedAt, policy, createdAt) > endAt) return null;
  const submitted = submission && {
    id: submission.id,
    model: record.model,
    startedAt: submission.startedAt,
  };
  const customerKey = sealedKeyOf(record);
  const about = { taskId, ...asked, createdAt, customerKey, submitted };
  const question = { ...about, purpose: "kept_job" } as const;
  const dueAt = Math.max(startAt(plannedAt, policy, createdAt), policy.pollDeferredTo);
  return { dueAt, step: () => ({ kind: "poll", poll: { ...question, isUrgent: true } }) };
}
