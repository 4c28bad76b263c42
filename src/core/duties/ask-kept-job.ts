import { type Policy, startAt } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { keptJobToAsk } from "../polls/kept-job.ts";
import type { Duty } from "./duty.ts";
import type { PollStep } from "./poll.ts";

/**
 * Returns the poll, at the deadline of a task without an attached job, of a job that only a hook has named. Such a
 * job is polled only if the provider's answers show for which task a job was submitted (events/kept-jobs.ts). Null
 * when there is no such job. Null also when the relay is paused at the deadline, because nothing is polled then;
 * the task still fails at its deadline.
 */
export function askKeptJob(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isOpen(record)) return null;
  const asked = keptJobToAsk(record, policy);
  const { id: taskId, createdAt, deadlineAt } = record;
  if (asked === null || startAt(deadlineAt, policy, createdAt) > deadlineAt) return null;
  const poll = { taskId, ...asked, createdAt, isUrgent: true, purpose: "kept_job" } as const;
  const dueAt = Math.max(deadlineAt, policy.pollDeferredTo);
  return { dueAt, step: () => ({ kind: "poll", poll }) };
}
