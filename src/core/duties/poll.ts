import type { Policy } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { nextPoll } from "../polls/next-poll.ts";
import { isUrgent } from "../polls/next-poll.ts";
import type { PollPurpose } from "../events/event.ts";
import type { Job } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";

/** A poll: one question to the upstream about a job. */
export interface Poll {
  readonly taskId: string;
  /** Name of the connection to the provider. */
  readonly connection: string;
  readonly job: Job;
  /** Time at which the task was created, in Unix milliseconds. */
  readonly createdAt: number;
  /**
   * States that the poll comes before others of its connection when there are too many: a hook has just claimed
   * the end of the job, or the task ends after this poll.
   */
  readonly isUrgent: boolean;
  readonly purpose: PollPurpose;
}

export interface PollStep {
  readonly kind: "poll";
  readonly poll: Poll;
}

/**
 * Returns the next poll of the upstream (polls/next-poll.ts); events/polling.ts applies the answer.
 */
export function poll(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isOpen(record) || record.upstream === null || record.tracking.poll === null) return null;
  const { id: taskId, upstream, createdAt } = record;
  const { poll: plan } = record.tracking;
  const next = nextPoll(record, policy);
  if (next === null) return null;
  const { job, dueAt } = next;
  const { connection } = upstream;
  const question = { taskId, connection, job, createdAt, purpose: "result" } as const;
  const step = (now: number): PollStep => {
    return { kind: "poll", poll: { ...question, isUrgent: isUrgent(record, plan, now) } };
  };
  return { dueAt, step };
}
