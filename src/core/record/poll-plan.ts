import type { Policy, PollLimits } from "../policy.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../time.ts";
import { type Cadence, nextPollTime } from "./poll-cadence.ts";
import { type CreatedTask, isOpen, type OpenTask } from "./task.ts";
import type { Job, UpstreamNews } from "./upstream.ts";

/** Knowledge about a job at its attachment, which decides at which ages the job is polled. */
export interface Expectation {
  /**
   * Ages in milliseconds, ascending, at which earlier jobs with the same endpoint and model ended; empty when
   * unknown.
   */
  readonly likelyAgesMs: readonly number[];
  /** States that the upstream can reach the task's hook URL, and that its hooks are expected to come. */
  readonly isHookExpected: boolean;
  /**
   * States that the duration of this job is recorded at its end, to predict later jobs with its endpoint and
   * model.
   */
  readonly isReported: boolean;
}

export const NOTHING_EXPECTED: Expectation = {
  likelyAgesMs: [],
  isHookExpected: false,
  isReported: false,
};

/**
 * Plan of the polls of the attached job. Regular polls follow from the age of the job (`poll-cadence.ts`), so
 * their times are not stored. The plan stores only what delays a poll or causes an additional one. Times are
 * in Unix milliseconds.
 */
export interface PollPlan {
  /**
   * Time at which the task got its job, by the registration, a call or a hook. The age of the job, from which
   * its polls follow, counts from here.
   */
  readonly attachedAt: number;
  readonly likelyAgesMs: readonly number[];
  /**
   * Age of the job in milliseconds at which its hook is late; 0 when polls do not wait for it, null when no
   * hook is expected.
   */
  readonly hookWaitMs: number | null;
  /**
   * States that the duration of this job is recorded at its end, to predict later jobs with its endpoint and
   * model.
   */
  readonly isReported: boolean;
  /** Time to which a hook has postponed the next poll; null when the age of the job alone decides it. */
  readonly at: number | null;
  /** Earliest time of the next poll, which the provider named with `Retry-After`. */
  readonly notBefore: number;
  /**
   * Job states (queued, running) that hooks have reported; only the first hook of each state postpones the
   * next poll.
   */
  readonly heard: readonly HeardStatus[];
  /** Latest unverified hook that claimed the end of the job; null when there was none. */
  readonly hint: Hint | null;
  /** Kind of the upstream's latest answer to a poll; null while there was none. */
  readonly answer: UpstreamAnswer | null;
  /**
   * Time of the first of the unanswered polls since the latest answer, in Unix milliseconds; null when the most
   * recent poll was answered.
   */
  readonly unansweredSince: number | null;
}

export type HeardStatus = Extract<UpstreamNews["status"], "queued" | "processing">;

export interface Hint {
  readonly at: number;
  readonly status: UpstreamNews["status"];
}

/**
 * Kind of the upstream's answers to the latest polls. It is stored only when an answer is of another kind than
 * the one before.
 */
export interface UpstreamAnswer {
  readonly kind: (typeof ANSWER_KINDS)[number];
  /** Time of the first answer of this kind, in Unix milliseconds. */
  readonly since: number;
  /** HTTP status of the first answer of the kind `unclear` (not understood); null for other kinds. */
  readonly statusCode: number | null;
  /**
   * State of the job that the first answer of the kind `unclear` names and the relay does not know; null when
   * it names none, and for other kinds.
   */
  readonly word: string | null;
}

export const ANSWER_KINDS = [
  "queued",
  "processing",
  "no_output",
  "limited",
  "unauthorized",
  "unclear",
] as const;

/** Shortest wait in milliseconds from the first hook of a state (queued, running) to the next regular poll. */
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
export function pollableJob(task: OpenTask, policy: Policy, now: number): Job | null {
  return canPoll(task, policy, now) ? (task.upstream?.job ?? null) : null;
}

/**
 * Plans the polls of a job that is attached at `now`.
 * @param limits poll limits of the connection; undefined while its key is not configured.
 */
export function planPolls(
  { isHookExpected, ...known }: Expectation,
  limits: PollLimits | undefined,
  now: number,
): PollPlan {
  const hookWaitMs = isHookExpected ? (limits?.hookWaitMs ?? null) : null;
  const unheard = { heard: [], hint: null, answer: null, unansweredSince: null };
  return { attachedAt: now, ...known, hookWaitMs, at: null, notBefore: 0, ...unheard };
}

/**
 * Returns the planned time of the next poll: the first one after `policy.polledAt`, up to which all planned
 * polls have been made. An instance that has not polled yet does not know whether a wait that the provider has
 * named prevented a planned poll, and polls at the end of this wait.
 */
export function plannedPollAt(task: OpenTask, plan: PollPlan, policy: Policy): number {
  const { polledAt, askedAt } = policy;
  const plannedAt = plannedAfter(plan, cadenceOf(task, plan, policy), polledAt);
  const retryAt = askedAt === 0 && plan.notBefore > polledAt ? plan.notBefore : Infinity;
  return Math.min(plannedAt, hintAfter(plan.hint, polledAt), retryAt);
}

/** Returns the earliest time at which the provider allows the next poll. */
export function allowedPollAt(task: OpenTask, { notBefore }: PollPlan, policy: Policy): number {
  const { askedAt, pollDeferredTo } = policy;
  return Math.max(notBefore, pollDeferredTo, askedAt + (limitsOf(task, policy)?.gapMs ?? 0));
}

/**
 * Returns the time of the final poll of a task, after which a task without a result ends. It is the deadline
 * or, if that is later, the end of the ten minutes in which an upstream that reported success without output
 * is polled again.
 */
export function lastPollAt({ deadlineAt, tracking }: OpenTask): number {
  const { answer = null } = tracking.poll ?? {};
  if (answer?.kind !== "no_output") return deadlineAt;
  // The limit ends a task whose upstream alternates between states and would never end it.
  const endAt = Math.min(lastNoOutputPollAt(answer), deadlineAt + MAX_OVERTIME_MS);
  return Math.max(deadlineAt, endAt);
}

/** Returns the time of the final poll of a task whose upstream keeps reporting success without output. */
export function lastNoOutputPollAt({ since }: UpstreamAnswer): number {
  return since + LAST_NO_OUTPUT_WAIT_MS;
}

/**
 * Applies a hook that says queued or running. The first hook of each state postpones the next poll by at least
 * two minutes, and at least until the job has the age at which most jobs of its kind have ended. The reason is
 * that the hook shows that this provider's hooks arrive, so the result will probably come by a hook too. A
 * later hook of the same state changes nothing. Polls that do not wait for hooks are not postponed.
 */
export function hear(plan: PollPlan, status: HeardStatus, now: number): PollPlan {
  if (plan.heard.includes(status)) return plan;
  const heard = [...plan.heard, status];
  if (plan.hookWaitMs === 0) return { ...plan, heard };
  const lateAt = plan.attachedAt + (plan.likelyAgesMs.at(-1) ?? 0);
  return { ...plan, heard, at: Math.max(now + MOVE_MS, lateAt) };
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
export function hintAfter(known: Hint | null, time: number): number {
  if (known === null) return Infinity;
  const waits = Math.max(0, Math.floor((time - known.at) / HINT_WAIT_MS) + 1);
  const waitMs = waits * HINT_WAIT_MS;
  return waitMs < HINT_AGE_MS ? known.at + waitMs : Infinity;
}

/** Collects the numbers that decide at which times the job of a task is polled. */
export function cadenceOf(task: OpenTask, plan: PollPlan, policy: Policy): Cadence {
  const { firstMs, gapMs } = limitsOf(task, policy) ?? { firstMs: 0, gapMs: 0 };
  return { ...plan, firstMs, gapMs, jitter: jitterOf(task.id) };
}

/** Derives a number from 0 to 1 from the end of a task id, which is random in UUIDs of every version. */
function jitterOf(taskId: string): number {
  return parseInt(taskId.slice(-8), 16) / 0xffffffff;
}

function limitsOf({ upstream }: CreatedTask, policy: Policy): PollLimits | null {
  return upstream === null ? null : (policy.polls.get(upstream.connection) ?? null);
}
