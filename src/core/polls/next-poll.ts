import { hashOf } from "../hash.ts";
import { type Policy, type PollLimits, startAt } from "../policy.ts";
import type { HeardStatus, Hint, PollPlan, UpstreamAnswer } from "../record/poll-plan.ts";
import { type CreatedTask, isOpen, type OpenTask } from "../record/task.ts";
import type { Tracking } from "../record/tracking.ts";
import type { Job, Upstream } from "../record/upstream.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../time.ts";
import { type Cadence, nextPollTime } from "./cadence.ts";

/** Wait in milliseconds from the first hook of a state (queued, running) to the next regular poll. */
const MOVE_MS = 2 * MINUTE_MS;
/**
 * Wait in milliseconds between the additional polls after an unverified hook that claims the end of the job.
 */
const HINT_WAIT_MS = 15 * SECOND_MS;
/** Age in milliseconds from which an unverified hook that claims the end of the job causes no more polls. */
const HINT_AGE_MS = 2 * MINUTE_MS;
/** Times from the first answer that reports success without output to the polls after it, in milliseconds. */
const NO_OUTPUT_WAITS_MS = [15, 30, 60, 120, 300, 600].map((seconds) => seconds * SECOND_MS);
/** Longest time past its deadline for which a task waits for the output of a success, in milliseconds. */
const MAX_OVERTIME_MS = 6 * HOUR_MS;
const LAST_NO_OUTPUT_WAIT_MS = Math.max(...NO_OUTPUT_WAITS_MS);

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
  if (dueAt >= finalPollAt(task)) return "deadline";
  if (plan.answer?.kind === "no_output") return "no_output";
  if (dueAt === plan.at) return "hook_running";
  const isFirst = dueAt === nextPollTime(cadenceOf(task, plan, policy), plan.attachedAt);
  return isFirst && (plan.hookWaitMs ?? 0) > 0 ? "hook_late" : "schedule";
}

/**
 * Tells whether the job of a task can be polled: the API key that its provider needs is configured, and the
 * provider has not forgotten the job yet.
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
 * Plans the polls of a job that is attached at `now`.
 * @param isHookExpected true when the upstream can reach the task's hook URL, and its hooks are expected to come.
 * @param limits poll limits of the connection; undefined while its key is not configured.
 */
export function planPolls(
  isHookExpected: boolean,
  limits: PollLimits | undefined,
  now: number,
): PollPlan {
  const hookWaitMs = isHookExpected ? (limits?.hookWaitMs ?? null) : null;
  const unheard = { heard: [], hint: null, answer: null, unansweredSince: null };
  return { attachedAt: now, hookWaitMs, at: null, notBefore: 0, ...unheard };
}

/**
 * Returns the tracking (plan of polls and stored hooks) of a task that becomes open at `now`. No poll is
 * planned while no job is attached. The only jobs that are attached at this time are simulated ones of the
 * sandbox, so no hook is expected.
 */
export function trackingOf(upstream: Upstream | null, policy: Policy, now: number): Tracking {
  const limits = upstream?.job == null ? undefined : policy.polls.get(upstream.connection);
  const poll = upstream?.job == null ? null : planPolls(false, limits, now);
  return { poll, keptHooks: [], isExtended: false, told: [], refusedHooks: [] };
}

/**
 * Returns the planned time of the next poll: the first one after `policy.polledAt`, up to which all planned
 * polls have been made. A new instance of the object does not know whether a planned poll was put off because the
 * provider had named a wait, so it also polls at the end of that wait.
 */
function plannedPollAt(task: OpenTask, plan: PollPlan, policy: Policy): number {
  const { polledAt, askedAt, pollEndedAt } = policy;
  const cadence = cadenceOf(task, plan, policy);
  const plannedAt = plannedAfter(plan, cadence, Math.max(polledAt, pollEndedAt));
  const retryAt = askedAt === 0 && plan.notBefore > polledAt ? plan.notBefore : Infinity;
  return Math.min(plannedAt, hintAfter(plan.hint, polledAt), retryAt);
}

/** Returns the earliest time at which the provider allows the next poll of the job. */
function allowedPollAt(task: OpenTask, { notBefore }: PollPlan, policy: Policy): number {
  return Math.max(notBefore, policy.askedAt + (limitsOf(task, policy)?.gapMs ?? 0));
}

/**
 * Returns the time until which the limit of the connection defers the next poll; 0 when it does not. A poll that
 * has become urgent since it was deferred (see `isUrgent`) does not wait so long.
 */
function deferredTo(task: OpenTask, { hint: known }: PollPlan, policy: Policy): number {
  const { pollDeferredAt, pollDeferredTo } = policy;
  const finalAt = finalPollAt(task);
  const urgentAt = finalAt > pollDeferredAt ? finalAt : Infinity;
  return Math.min(pollDeferredTo, hintAfter(known, pollDeferredAt), urgentAt);
}

/**
 * Tells whether a poll at `at` must not wait behind the many others of its connection: in the two minutes after
 * a hook claimed the end of the job, and when it is the last one before the task ends.
 */
export function isUrgent(task: OpenTask, plan: PollPlan, at: number): boolean {
  return at >= finalPollAt(task) || isHintedSince(plan, at - HINT_AGE_MS);
}

/**
 * Returns the time of the final poll of a task, after which a task without a result ends. It is the deadline
 * or, if that is later, the end of the ten minutes in which an upstream that reported success without output
 * is polled again.
 */
export function finalPollAt({ deadlineAt, tracking }: OpenTask): number {
  const { answer = null } = tracking.poll ?? {};
  if (answer?.kind !== "no_output") return deadlineAt;
  // The limit ends a task whose upstream alternates between states and would never end it.
  const endAt = Math.min(finalNoOutputPollAt(answer), deadlineAt + MAX_OVERTIME_MS);
  return Math.max(deadlineAt, endAt);
}

/** Returns the time of the final poll of a task whose upstream keeps reporting success without output. */
export function finalNoOutputPollAt({ since }: UpstreamAnswer): number {
  return since + LAST_NO_OUTPUT_WAIT_MS;
}

/**
 * Applies a hook that says queued or running. The first hook of each state postpones the next poll by two
 * minutes, because it shows that this provider's hooks arrive, so that the result will probably come by a hook
 * too. A later hook of the same state changes nothing. Polls that do not wait for hooks are not postponed.
 */
export function hear(plan: PollPlan, status: HeardStatus, now: number): PollPlan {
  if (plan.heard.includes(status)) return plan;
  const heard = [...plan.heard, status];
  if (plan.hookWaitMs === 0) return { ...plan, heard };
  return { ...plan, heard, at: now + MOVE_MS };
}

/**
 * Applies an unverified hook that claims the end of the job (a hint): the upstream is polled now and, until
 * the hook is two minutes old, every 15 s. Another claim within 15 s changes nothing, so that a sender who
 * knows the hook URL causes at most four polls a minute.
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
  // A poll under way does not count, because it may have been answered before the job ended.
  return { ...plan, hint: { at: Math.max(now, polledAt + 1), status } };
}

/** Tells whether a hook claimed the end of the job after `time`. */
export function isHintedSince({ hint: known }: PollPlan, time: number): boolean {
  return known !== null && known.at >= time;
}

function plannedAfter({ at, answer }: PollPlan, cadence: Cadence, time: number): number {
  const since = answer?.kind === "no_output" ? answer.since : -Infinity;
  const times = NO_OUTPUT_WAITS_MS.map((waitMs) => since + waitMs);
  const regularAt = at !== null && at > time ? at : nextPollTime(cadence, time);
  return times.find((each) => each > time) ?? regularAt;
}

/** Returns the time of the first poll after `time` that an unverified hook causes; Infinity for none. */
function hintAfter(known: Hint | null, time: number): number {
  if (known === null) return Infinity;
  const waits = Math.max(0, Math.floor((time - known.at) / HINT_WAIT_MS) + 1);
  const waitMs = waits * HINT_WAIT_MS;
  return waitMs < HINT_AGE_MS ? known.at + waitMs : Infinity;
}

/** Collects the numbers that decide at which times the job of a task is polled. */
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

/** Derives a number from 0 to 1 from a task's id, which may be a UUID of any version. */
function jitterOf(taskId: string): number {
  return hashOf(taskId) / 0xffffffff;
}

function limitsOf({ upstream }: CreatedTask, policy: Policy): PollLimits | null {
  return upstream === null ? null : (policy.polls.get(upstream.connection) ?? null);
}
