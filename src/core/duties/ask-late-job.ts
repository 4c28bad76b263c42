import { MAX_CALLBACK_TIMEOUT_MS, type Policy, startAt } from "../policy.ts";
import { latePollAt } from "../polls/late-poll.ts";
import { sealedKeyOf } from "../record/customer-key.ts";
import { inputOf } from "../record/input-links.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import { SECOND_MS } from "../time.ts";
import type { Duty } from "./duty.ts";
import { mayDelayClient } from "./operator-notice-send.ts";
import type { PollStep } from "./poll.ts";

/**
 * Time in milliseconds that must lie between the poll of a task that has failed and a planned refund or attempt of its
 * callback. With less time the poll is not sent, because waiting for the provider could delay the refund or the
 * attempt.
 */
const CLEARANCE_MS = MAX_CALLBACK_TIMEOUT_MS + SECOND_MS;

/**
 * Returns the poll of the job of a task that has failed at its deadline. It is made so that the operator can get a
 * notice if the job has succeeded after all (events/late-results.ts). The times are planned in polls/late-poll.ts. Null
 * when no poll is planned, and when a refund or an attempt of the callback is planned so soon that the poll could delay
 * it.
 */
export function askLateJob(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isTerminal(record) || record.upstream?.job == null) return null;
  const plannedAt = latePollAt(record, policy);
  if (plannedAt === null) return null;
  // After a pause the poll may start at the check that finds the pause over.
  const dueAt = startAt(Math.max(plannedAt, policy.pollDeferredTo), policy);
  if (mayDelayClient(record, policy, dueAt, CLEARANCE_MS)) return null;
  const { id: taskId, createdAt } = record;
  const { connection, job } = record.upstream;
  const poll = {
    taskId,
    connection,
    job,
    createdAt,
    customerKey: sealedKeyOf(record),
    isUrgent: false,
    submitted: null,
    ...inputOf(record.submission),
    purpose: "late_result",
  } as const;
  return { dueAt, step: () => ({ kind: "poll", poll }) };
}
