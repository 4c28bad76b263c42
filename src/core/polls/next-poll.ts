import { type Policy, startAt } from "../policy.ts";
import type { PollPlan } from "../record/poll-plan.ts";
import type { OpenTask } from "../record/task.ts";
import type { Job } from "../record/upstream.ts";
import { nextPollTime } from "./cadence.ts";
import {
  allowedPollAt,
  cadenceOf,
  deferredTo,
  hintAfter,
  lastPollAt,
  plannedPollAt,
  pollableJob,
} from "./plan.ts";

/** The next poll of the job of an open task. */
export interface NextPoll {
  readonly job: Job;
  /** Time at which the poll is due, in Unix milliseconds. */
  readonly dueAt: number;
  readonly reason: PollReason;
}

/**
 * Reason why the next poll is made at its time: the age of the job (`schedule`) or the time from which its
 * expected hook is late (`hook_late`); a hook that said queued or running and so postponed it
 * (`hook_running`), or one that claimed the end of the job (`hook_ended`); success without output
 * (`no_output`); the wait that the provider named (`retry_after`), or the limit of polls of the connection
 * (`rate_limit`); the deadline of the task; or, while the relay is paused, the next check whether the pause
 * is over.
 */
export type PollReason =
  | "schedule"
  | "hook_late"
  | "hook_running"
  | "hook_ended"
  | "no_output"
  | "retry_after"
  | "rate_limit"
  | "deadline"
  | "paused";

/**
 * Returns the next poll of the upstream: at its planned time or at the deadline of the task, whichever is
 * sooner, but never before the provider allows it. A poll that the limit of its connection has deferred waits
 * until its turn or until it becomes urgent. A pause of the relay delays polls but no deadline: a task
 * whose deadline passes during a pause fails without the poll that is otherwise made at the deadline. Null
 * when no poll is made any more, or when the job cannot be polled.
 */
export function nextPoll(task: OpenTask, policy: Policy): NextPoll | null {
  const { poll: plan } = task.tracking;
  if (plan === null) return null;
  const lastAt = lastPollAt(task);
  const plannedAt = Math.min(plannedPollAt(task, plan, policy), lastAt);
  const wantedAt = startAt(plannedAt, policy, Math.min(plannedAt, plan.attachedAt));
  if (wantedAt > lastAt) return null;
  // The relay's own limits put a poll off, perhaps past the time at which the provider forgets the job, but
  // they do not cancel it: a task must not fail at its deadline without its last poll because of them.
  const job = pollableJob(task, policy, wantedAt);
  if (job === null) return null;
  const allowedAt = allowedPollAt(task, plan, policy);
  const dueAt = Math.max(wantedAt, allowedAt, deferredTo(task, plan, policy));
  const isHeld = wantedAt > plannedAt && dueAt === wantedAt;
  return { job, dueAt, reason: isHeld ? "paused" : reasonOf(task, plan, policy, dueAt) };
}

function reasonOf(task: OpenTask, plan: PollPlan, policy: Policy, dueAt: number): PollReason {
  const { polledAt, pollDeferredTo } = policy;
  if (dueAt === plan.notBefore) return "retry_after";
  if (dueAt === pollDeferredTo) return "rate_limit";
  if (dueAt === hintAfter(plan.hint, polledAt)) return "hook_ended";
  if (dueAt >= lastPollAt(task)) return "deadline";
  if (plan.answer?.kind === "no_output") return "no_output";
  if (dueAt === plan.at) return "hook_running";
  const isFirst = dueAt === nextPollTime(cadenceOf(task, plan, policy), plan.attachedAt);
  return isFirst && (plan.hookWaitMs ?? 0) > 0 ? "hook_late" : "schedule";
}
