import { MAX_CALLBACK_TIMEOUT_MS, type Policy, startAt } from "../policy.ts";
import { latePollAt } from "../polls/late-poll.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import { SECOND_MS } from "../time.ts";
import type { Duty } from "./duty.ts";
import { mayDelayClient } from "./operator-notice-send.ts";
import type { PollStep } from "./poll.ts";

/**
 * Time in milliseconds before a planned refund or attempt of the callback within which no poll is sent, so
 * that waiting for the provider delays neither.
 */
const CLEARANCE_MS = MAX_CALLBACK_TIMEOUT_MS + SECOND_MS;

/**
 * Polls the job of a task that has failed at its deadline, because the operator is told when the job has
 * succeeded after all (events/late-results.ts); polls/late-poll.ts plans the times. Null when no poll is
 * planned, or when a refund or an attempt of the callback is planned before the provider would have to
 * answer.
 */
export function askLateJob(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isTerminal(record) || record.upstream?.job == null) return null;
  const plannedAt = latePollAt(record, policy);
  if (plannedAt === null) return null;
  const allowedAt = Math.max(plannedAt, policy.pollDeferredTo);
  if (mayDelayClient(record, policy, allowedAt, CLEARANCE_MS)) return null;
  const { id: taskId, createdAt } = record;
  const { connection, job } = record.upstream;
  const poll = {
    taskId,
    connection,
    job,
    createdAt,
    isUrgent: false,
    purpose: "late_result",
  } as const;
  return { dueAt: startAt(allowedAt, policy), step: () => ({ kind: "poll", poll }) };
}
