import { type Policy, startAt } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { pollableJob } from "../record/poll-plan.ts";
import type { Job } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";

/** A poll: one question to the upstream about a job. */
export interface Poll {
  readonly taskId: string;
  /** Name of the connection to the provider. */
  readonly connection: string;
  readonly job: Job;
  /**
   * Number of nudges in the task's record when this poll was sent; a nudge is a hook that asked for an
   * earlier poll.
   */
  readonly nudges: number;
  /** Time at which the task was created, in Unix milliseconds. */
  readonly createdAt: number;
}

export interface PollStep {
  readonly kind: "poll";
  readonly poll: Poll;
}

/**
 * Returns the next poll of the upstream: at its planned time or at the deadline of the task, whichever is
 * sooner, but never before the earliest time that the provider allows. A pause of the relay delays polls
 * but no deadline: a task whose deadline is within the pause has no last poll. The time of the next poll is
 * planned in record/poll-plan.ts; events/polling.ts applies the answer.
 */
export function poll(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isOpen(record) || record.upstream === null || record.tracking.poll === null) return null;
  const { id: taskId, upstream, deadlineAt, createdAt } = record;
  const { at, notBefore, nudges } = record.tracking.poll;
  const wantedAt = startAt(Math.min(at, deadlineAt), policy);
  if (wantedAt > deadlineAt) return null;
  const dueAt = Math.max(wantedAt, notBefore);
  const job = pollableJob(record, policy, dueAt);
  if (job === null) return null;
  const question: Poll = { taskId, connection: upstream.connection, job, nudges, createdAt };
  return { dueAt, step: () => ({ kind: "poll", poll: question }) };
}
