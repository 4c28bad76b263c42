import { type Policy, type PollLimits, startAt } from "../policy.ts";
import { canPoll } from "../polls/next-poll.ts";
import { limitsOf } from "../polls/task-poll-limits.ts";
import { sealedKeyOf } from "../record/customer-key.ts";
import { inputOf } from "../record/input-links.ts";
import { isSending, unknownOutcomeOf } from "../record/submission.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../record/task.ts";
import { keptJobIds } from "../record/tracking.ts";
import type { AttachedJob } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";
import type { PollStep } from "./poll.ts";

/**
 * Returns the poll of a job that only a hook has named, for a task to which no job is attached. Such a poll is made
 * only if the provider's answers show for which task a job was submitted (events/kept-jobs.ts). Normally it is made
 * once, at the task's deadline. While the outcome of the task's submission is unknown, it is made as soon as a hook
 * names a job, and is repeated until the task fails.
 *
 * Null when no hook has named a job, while the upstream may still answer the submission, and when a pause of the relay
 * lasts beyond the time of the last such poll: nothing is polled during a pause, so the task fails without this poll.
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
  const about = { taskId, ...asked, createdAt, customerKey, submitted, ...inputOf(submission) };
  const question = { ...about, purpose: "kept_job" } as const;
  const dueAt = Math.max(startAt(plannedAt, policy, createdAt), policy.pollDeferredTo);
  return { dueAt, step: () => ({ kind: "poll", poll: { ...question, isUrgent: true } }) };
}

/**
 * Returns the job to poll for a task to which no job was attached, together with its connection: the job that the
 * latest stored hook names. If the hook came to the hook URL of a submission (a URL that only the upstream knows), the
 * provider's answers must at least state the model and the creation time of a job. For any other hook they must show
 * for which task a job was submitted, because a forged hook could otherwise bring the result of another task's job.
 * Null when the answers do not show this, and when no stored hook names a job.
 */
function keptJobToAsk(task: OpenTask, policy: Policy): AttachedJob | null {
  if (task.upstream?.job !== null) return null;
  const { connection } = task.upstream;
  const askAt = unknownOutcomeOf(task.submission)?.askAt ?? task.deadlineAt;
  if (!isProvable(task, limitsOf(task, policy)) || !canPoll(task, policy, askAt)) return null;
  const id = keptJobIds(task.tracking).at(-1);
  const endpoint = task.submission?.endpoint ?? null;
  return id === undefined ? null : { connection, job: { id, endpoint } };
}

/** Tells whether the provider's answer to a poll could show that a job belongs to this task. */
function isProvable({ submission }: OpenTask, limits: PollLimits | null): boolean {
  if (limits === null) return false;
  return limits.isTaskNamed || (submission !== null && limits.isCreationStated);
}
