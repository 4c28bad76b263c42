import { type Policy, startAt } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { keptJobToAsk } from "../polls/kept-job.ts";
import type { Duty } from "./duty.ts";
import type { PollStep } from "./poll.ts";

/**
 * Polls, at the deadline of a task without an attached job, a job that only a hook has named. Each such job is
 * polled once, and only if the provider's answers show for which task a job was submitted
 * (events/kept-jobs.ts). Null when there is no such job. Null also while the relay is paused: nothing is
 * polled then, and the task fails at its deadline all the same.
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
