import { MAX_CALLBACK_TIMEOUT_MS, type Policy, startAt } from "../policy.ts";
import { latePollAt } from "../record/late-job.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import { SECOND_MS } from "../time.ts";
import type { Duty } from "./duty.ts";
import { mayDelayClient } from "./notify.ts";
import type { PollStep } from "./poll.ts";

/**
 * Time in milliseconds before a planned refund or attempt of the callback within which no poll is sent, so
 * that waiting for the provider delays neither.
 */
const CLEARANCE_MS = MAX_CALLBACK_TIMEOUT_MS + SECOND_MS;

/**
 * Polls the job of a task that has failed at its deadline, because the operator is told when the job has
 * succeeded after all (events/late-results.ts); record/late-job.ts plans the times. Null when no poll is
 * planned, or when a refund or an attempt of the callback is planned before the provider would have to
 * answer.
 */
export function askLateJob(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isTerminal(record) || record.upstream?.job == null) return null;
  const plannedAt = latePollAt(record, policy);
  if (plannedAt === null || mayDelayClient(record, policy, plannedAt, CLEARANCE_MS)) return null;
  const { id: taskId, createdAt } = record;
  const { connection, job } = record.upstream;
  const poll = {
    taskId,
    connection,
    job,
    createdAt,
    likelihood: 1,
    purpose: "late_result",
  } as const;
  return { dueAt: startAt(plannedAt, policy), step: () => ({ kind: "poll", poll }) };
}
