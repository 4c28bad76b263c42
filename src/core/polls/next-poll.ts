import { hashOf } from "../hash.ts";
import { type Policy, type PollLimits, startAt } from "../policy.ts";
import { cancelPollAfter, isCancelAnsweredSince } from "../record/cancellation.ts";
import type { Hint, PollPlan, UpstreamAnswer } from "../record/poll-plan.ts";
import { type CreatedTask, isOpen, type OpenTask } from "../record/task.ts";
import type { Tracking } from "../record/tracking.ts";
import { limitsOf } from "./task-poll-limits.ts";
import type { Job, Upstream } from "../record/upstream.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../time.ts";
import { type Cadence, nextPollTime } from "./cadence.ts";

// When the job of an open task is polled next, and why. Beside this file: by the age of the job alone (cadence.ts), with
// the limits of its provider (task-poll-limits.ts, config/poll-limits.ts), and after the task has failed without a result
// (late-poll.ts). The poll is made by duties/poll.ts, where the connection has room for it
// (objects/connection/poll-slots.ts).

/** Wait in milliseconds before the next regular poll, from the first hook which says that the job is running. */
const MOVE_MS = 2 * MINUTE_MS;
/** Wait in milliseconds between the polls of a job after an unverified hook has claimed the end of the job. */
const HINT_WAIT_MS = 15 * SECOND_MS;
/** Time in milliseconds for which the job is polled more often after an unverified hook has claimed its end. */
const HINT_AGE_MS = 2 * MINUTE_MS;
/**
 * Time in milliseconds, from the upstream's answer to a cancellation, during which polls of the job are made before
 * those of other tasks.
 */
const CANCEL_AGE_MS = 2 * MINUTE_MS;
/**
 * Waits in milliseconds from the first answer that reports success without output to each of the polls that follow
 * it.
 */
const NO_OUTPUT_WAITS_MS = [15, 30, 60, 120, 300, 600].map((seconds) => seconds * SECOND_MS);
/**
 * Longest time in milliseconds by which the end of a task can be later than its deadline, because the upstream has
 * reported success and the output is still awaited.
 */
const MAX_OVERTIME_MS = 6 * HOUR_MS;
const LAST_NO_OUTPUT_WAIT_MS = Math.max(...NO_OUTPUT_WAITS_MS);

/** The next poll of the job of an open task, with its time and its reason. */
export interface NextPoll {
  readonly job: Job;
  /** Time at which the poll is due, in Unix milliseconds. */
  readonly dueAt: number;
  readonly reason: PollReason;
}

/**
 * Reason why the next poll is made at its time:
 * - `schedule`: the age of the job.
 * - `hook_late`: the expected hook has not come in time.
 * - `hook_running`: a hook that said that the job is running has postponed the poll to this time.
 * - `hook_ended`: an unverified hook has claimed the end of the job.
 * - `cancel_answered`: the upstream has answered to a cancellation, and the poll shows what has become of the job.
 * - `no_output`: the upstream has reported success without output.
 * - `retry_after`: the provider has named a wait.
 * - `rate_limit`: the connection is polled as often as its limit permits.
 * - `deadline`: the task reaches its deadline.
 * - `paused`: the relay is paused, and checks at this time whether the pause is over.
 */
export type PollReason =
  | "schedule"
  | "hook_late"
  | "hook_running"
  | "hook_ended"
  | "cancel_answered"
  | "no_output"
  | "retry_after"
  | "rate_limit"
  | "deadline"
  | "paused";

/**
 * Returns the next poll of the job of an open task. It is made at its planned time or at the deadline of the task,
 * whichever is sooner, but never before the provider allows it. A poll that was deferred by the limit of its
 * connection waits until `policy.pollDeferredTo`, unless it becomes urgent before. A pause of the relay delays
 * polls but not the deadline: a task whose deadline passes during a pause fails without a final poll. Null when no
 * poll is made any more, or when the job cannot be polled.
 */
export function nextPoll(task: OpenTask, policy: Policy): NextPoll | null {
  const { poll: plan } = task.tracking;
  if (plan === null) return null;
  const finalAt = finalPollAt(task);
  const plannedAt = Math.min(plannedPollAt(task, plan, policy), finalAt);
  const wantedAt = startAt(plannedAt, policy, Math.min(plannedAt, plan.attachedAt));
  if (wantedAt > finalAt) return null;
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
  if (dueAt === cancelPollAfter(task.cancellation, polledAt)) return "cancel_answered";
  if (dueAt >= finalPollAt(task)) return "deadline";
  if (plan.answer?.kind === "no_output") return "no_output";
  if (dueAt === plan.postponedTo) return "hook_running";
  const isFirst = dueAt === nextPollTime(cadenceOf(task, plan, policy), plan.attachedAt);
  return isFirst && (plan.hookWaitMs ?? 0) > 0 ? "hook_late" : "schedule";
}

/**
 * Tells whether the job of a task can be polled. The API key of its provider must be configured, and the task must
 * be younger than the age from which the provider may have forgotten its job.
 */
export function canPoll(task: CreatedTask, policy: Policy, now: number): boolean {
  const limits = limitsOf(task, policy);
  if (limits === null) return false;
  const { notBefore = 0 } = (isOpen(task) ? task.tracking.poll : null) ?? {};
  const askAt = Math.max(now, notBefore);
  return limits.maxAgeMs === null || askAt < task.createdAt + limits.maxAgeMs;
}

/** Returns the job to poll at `now`; null when no job is attached, or when it cannot be polled. */
function pollableJob(task: OpenTask, policy: Policy, now: number): Job | null {
  return canPoll(task, policy, now) ? (task.upstream?.job ?? null) : null;
}

/**
 * Returns the plan of the polls of a job that is attached at `now`.
 * @param isHookExpected true when the upstream can reach the task's hook URL, and its hooks are expected to come.
 * @param limits limits of the polls of the job; null when it cannot be polled.
 */
export function planPolls(
  isHookExpected: boolean,
  limits: PollLimits | null,
  now: number,
): PollPlan {
  const hookWaitMs = isHookExpected ? (limits?.hookWaitMs ?? null) : null;
  const unheard = { hasHeardRunning: false, hint: null, answer: null, unansweredSince: null };
  return { attachedAt: now, hookWaitMs, postponedTo: null, notBefore: 0, ...unheard };
}

/**
 * Returns the state of the search for the result (plan of polls, stored hooks) of a task that becomes open at `now`.
 * Without an attached job no poll is planned. Only simulated jobs of the sandbox are attached already at this time, so
 * no hook is expected.
 */
export function trackingOf(upstream: Upstream | null, now: number): Tracking {
  const poll = upstream?.job == null ? null : planPolls(false, null, now);
  return { poll, keptHooks: [], isExtended: false, told: [], refusedHooks: [] };
}

/**
 * Returns the planned time of the next poll. It is the first one after the time `policy.polledAt`, up to which all
 * planned polls have been made. After a restart, the task's object cannot know whether a planned poll was postponed
 * before because the provider had demanded a wait. It therefore polls also at the end of that wait.
 */
function plannedPollAt(task: OpenTask, plan: PollPlan, policy: Policy): number {
  const { polledAt, askedAt, pollEndedAt } = policy;
  const cadence = cadenceOf(task, plan, policy);
  const plannedAt = plannedAfter(plan, cadence, Math.max(polledAt, pollEndedAt));
  const retryAt = askedAt === 0 && plan.notBefore > polledAt ? plan.notBefore : Infinity;
  const cancelAt = cancelPollAfter(task.cancellation, polledAt);
  return Math.min(plannedAt, hintAfter(plan.hint, polledAt), cancelAt, retryAt);
}

/** Returns the earliest time at which the provider allows the next poll of the job. */
function allowedPollAt(task: OpenTask, { notBefore }: PollPlan, policy: Policy): number {
  return Math.max(notBefore, policy.askedAt + (limitsOf(task, policy)?.gapMs ?? 0));
}

/**
 * Returns the time to which the limit of the connection defers the next poll; 0 when the poll is not deferred. A
 * poll that becomes urgent after it was deferred (see `isUrgent`) is not deferred any longer.
 */
function deferredTo(task: OpenTask, { hint: known }: PollPlan, policy: Policy): number {
  const { pollDeferredAt, pollDeferredTo } = policy;
  const finalAt = finalPollAt(task);
  const urgentAt = finalAt > pollDeferredAt ? finalAt : Infinity;
  const cancelAt = cancelPollAfter(task.cancellation, pollDeferredAt);
  return Math.min(pollDeferredTo, hintAfter(known, pollDeferredAt), cancelAt, urgentAt);
}

/**
 * Tells whether a poll at the time `at` is made before other polls of its connection that wait because of the limit.
 * This is the case in the two minutes after a hook has claimed the end of the job or the upstream has answered to a
 * cancellation, and for the last poll before the task ends.
 */
export function isUrgent(task: OpenTask, plan: PollPlan, at: number): boolean {
  const isAsked = isCancelAnsweredSince(task.cancellation, at - CANCEL_AGE_MS);
  return at >= finalPollAt(task) || isHintedSince(plan, at - HINT_AGE_MS) || isAsked;
}

/**
 * Returns the time of the final poll of a task, after which a task without a result ends. It is the deadline, or a
 * later time in two cases: while the upstream is asked to cancel the job of a task that has reached its deadline, and
 * when the upstream has reported success without output, until the end of the ten minutes in which the output is
 * awaited.
 */
export function finalPollAt({ deadlineAt, tracking, cancellation }: OpenTask): number {
  const { poll: plan } = tracking;
  const endsAt = Math.max(deadlineAt, cancellation?.endsAt ?? 0);
  if (plan?.answer?.kind !== "no_output") return endsAt;
  // This limit ends the task when an upstream reports success without output again and again between other states. The
  // job of a submission may become known only after the deadline.
  const limitAt = Math.max(deadlineAt, plan.attachedAt) + MAX_OVERTIME_MS;
  return Math.max(endsAt, Math.min(finalNoOutputPollAt(plan.answer), limitAt));
}

/**
 * Returns the time of the final poll of a task whose upstream keeps reporting success without output, in Unix
 * milliseconds.
 */
export function finalNoOutputPollAt({ since }: UpstreamAnswer): number {
  return since + LAST_NO_OUTPUT_WAIT_MS;
}

/**
 * Returns the plan of polls after a hook which says that the job is running. The first such hook postpones the next
 * poll by two minutes, because the hook with the result will probably come too. Later ones change nothing. Polls that
 * do not wait for hooks are not postponed.
 */
export function hear(plan: PollPlan, now: number): PollPlan {
  if (plan.hasHeardRunning) return plan;
  const postponedTo = plan.hookWaitMs === 0 ? plan.postponedTo : now + MOVE_MS;
  return { ...plan, hasHeardRunning: true, postponedTo };
}

/**
 * Returns the plan of polls after an unverified hook that claims the end of the job (a hint). The upstream is polled at
 * once, and again every 15 s until the hook is two minutes old. A further such hook within 15 s changes nothing, so
 * that a sender who knows the hook URL causes at most four polls a minute.
 */
export function hint(
  plan: PollPlan,
  status: Hint["status"],
  { polledAt }: Policy,
  now: number,
): PollPlan {
  const { hint: known, notBefore } = plan;
  const isAskedSoon = known !== null && Math.max(known.at + HINT_WAIT_MS, notBefore) > now;
  if (isAskedSoon) return plan;
  // A poll that is running now does not count, because the upstream may have answered it before the job ended.
  return { ...plan, hint: { at: Math.max(now, polledAt + 1), status } };
}

/** Tells whether an unverified hook claimed the end of the job at `time` or later. */
export function isHintedSince({ hint: known }: PollPlan, time: number): boolean {
  return known !== null && known.at >= time;
}

function plannedAfter({ postponedTo, answer }: PollPlan, cadence: Cadence, time: number): number {
  const since = answer?.kind === "no_output" ? answer.since : -Infinity;
  const times = NO_OUTPUT_WAITS_MS.map((waitMs) => since + waitMs);
  const isPostponed = postponedTo !== null && postponedTo > time;
  const regularAt = isPostponed ? postponedTo : nextPollTime(cadence, time);
  return times.find((each) => each > time) ?? regularAt;
}

/**
 * Returns the time of the first poll later than `time` that the unverified hook `known` causes, in Unix milliseconds.
 * Infinity when it causes none.
 */
function hintAfter(known: Hint | null, time: number): number {
  if (known === null) return Infinity;
  const waits = Math.max(0, Math.floor((time - known.at) / HINT_WAIT_MS) + 1);
  const waitMs = waits * HINT_WAIT_MS;
  return waitMs < HINT_AGE_MS ? known.at + waitMs : Infinity;
}

/** Returns the numbers that decide at which times the job of a task is polled. */
function cadenceOf(task: OpenTask, plan: PollPlan, policy: Policy): Cadence {
  const { gapMs } = limitsOf(task, policy) ?? { gapMs: 0 };
  const { attachedAt, hookWaitMs } = plan;
  return {
    attachedAt,
    hookWaitMs,
    lateness: policy.pollLateness,
    gapMs,
    jitter: jitterOf(task.id),
  };
}

/**
 * Returns a number from 0 to 1 that is always the same for the same task id. A hash of the id is used, because an
 * id may be a UUID of any version.
 */
function jitterOf(taskId: string): number {
  return hashOf(taskId) / 0xffffffff;
}
