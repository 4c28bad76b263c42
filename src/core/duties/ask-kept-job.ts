import { type Policy, startAt } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { keptJobToAsk } from "../record/tracking.ts";
import type { Duty } from "./duty.ts";
import type { PollStep } from "./poll.ts";

/**
 * Asks at the deadline of a task to which no job was attached for the job that a kept hook names, once for
 * each such job, where the provider's answer shows for which task the job was submitted
 * (events/kept-jobs.ts). Null when there is no such job, and while the relay is paused, which delays no
 * deadline.
 */
export function askKeptJob(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isOpen(record) || record.upstream === null) return null;
  const job = keptJobToAsk(record, policy);
  const { id: taskId, createdAt, deadlineAt, upstream } = record;
  if (job === null || startAt(deadlineAt, policy, createdAt) > deadlineAt) return null;
  const { connection } = upstream;
  const poll = { taskId, connection, job, createdAt, likelihood: 1, purpose: "kept_job" } as const;
  return { dueAt: deadlineAt, step: () => ({ kind: "poll", poll }) };
}
