import type { Policy } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { likelihoodOf } from "../record/poll-likelihood.ts";
import { nextPoll } from "../record/next-poll.ts";
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
   * Probability that this poll finds the result, from 0 to 1, by which the polls of a connection are chosen
   * when there are too many; 1 for a poll that must not be put off.
   */
  readonly likelihood: number;
  readonly purpose: PollPurpose;
}

export interface PollStep {
  readonly kind: "poll";
  readonly poll: Poll;
}

/**
 * Returns the next poll of the upstream (record/next-poll.ts); events/polling.ts applies the answer.
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
  const likelihood = () => likelihoodOf(record, plan, policy, dueAt);
  return { dueAt, step: () => ({ kind: "poll", poll: { ...question, likelihood: likelihood() } }) };
}
