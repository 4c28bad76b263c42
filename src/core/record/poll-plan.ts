import { backoff } from "../backoff.ts";
import type { Policy, PollLimits } from "../policy.ts";
import { MINUTE_MS } from "../time.ts";
import type { OpenTask } from "./task.ts";
import type { Job } from "./upstream.ts";

/** Plan of the next poll of the upstream. Times are in Unix milliseconds. */
export interface PollPlan {
  readonly at: number;
  /** Number of polls that ended without a final result. */
  readonly tries: number;
  /**
   * Number of nudges, i.e. hooks that asked for an earlier poll. When the number rises during a poll, the
   * answer to that poll may be outdated.
   */
  readonly nudges: number;
  /**
   * Earliest time of the next poll in Unix milliseconds, even after a nudge, because of the provider's
   * minimum interval or its `Retry-After`.
   */
  readonly notBefore: number;
  /**
   * States that the upstream reported success without output; a second poll with this answer fails the
   * task.
   */
  readonly isOutputMissing: boolean;
}

const MAX_WAIT_MS = 5 * MINUTE_MS;
/** Largest random addition to the wait before a poll, as a fraction of the wait. */
const JITTER = 0.2;

/**
 * Tells whether the job of a task can be polled: the API key that its provider needs is configured, and the
 * provider has not forgotten the job yet.
 */
export function canPoll(task: OpenTask, policy: Policy, now: number): boolean {
  const limits = limitsOf(task, policy);
  if (limits === null) return false;
  const askAt = Math.max(now, task.tracking.poll?.notBefore ?? 0);
  return limits.maxAgeMs === null || askAt < task.createdAt + limits.maxAgeMs;
}

/** Returns the job to poll at `now`; null when no job is attached, or when it cannot be polled. */
export function pollableJob(task: OpenTask, policy: Policy, now: number): Job | null {
  return canPoll(task, policy, now) ? (task.upstream?.job ?? null) : null;
}

/**
 * Plans the first poll of a job.
 * @param limits poll limits of the connection; undefined while its key is not configured.
 */
export function planFirstPoll(
  limits: PollLimits | undefined,
  policy: Policy,
  now: number,
): PollPlan {
  const at = now + withJitter(limits?.firstMs ?? 0, policy);
  return { at, tries: 0, nudges: 0, notBefore: 0, isOutputMissing: false };
}

/**
 * Plans the next poll after a poll without a final result. The waits grow; when a hook arrived during the
 * poll (`isOvertaken`), the next poll takes place at the earliest time that the provider allows.
 */
export function planNextPoll(
  plan: PollPlan,
  task: OpenTask,
  { isOvertaken, retryAfterMs }: { isOvertaken: boolean; retryAfterMs: number | null },
  policy: Policy,
  now: number,
): PollPlan {
  const { firstMs, gapMs } = limitsOf(task, policy) ?? { firstMs: MAX_WAIT_MS, gapMs: 0 };
  const tries = plan.tries + 1;
  const jitteredMs = withJitter(backoff(firstMs, tries, MAX_WAIT_MS), policy);
  // Beyond the longest wait the jitter shortens the wait instead.
  const ownMs = Math.min(jitteredMs, 2 * MAX_WAIT_MS - jitteredMs);
  // A provider that limits many tasks names the same time to all of them.
  const waitMs = Math.max(ownMs, withJitter(retryAfterMs ?? 0, policy));
  const notBefore = now + Math.max(gapMs, retryAfterMs ?? 0);
  const at = isOvertaken ? notBefore : Math.max(now + waitMs, notBefore);
  return { ...plan, at, tries, notBefore };
}

/**
 * Applies a nudge, a hook that asks for an earlier poll: brings the next poll forward to now, or to the
 * earliest time that the provider allows. Changes nothing when the poll is planned for that time already and
 * the time has not come.
 */
export function nudge(plan: PollPlan, now: number): PollPlan {
  const at = Math.max(now, plan.notBefore);
  return at === plan.at && at > now ? plan : { ...plan, at, nudges: plan.nudges + 1 };
}

function limitsOf({ upstream }: OpenTask, policy: Policy): PollLimits | null {
  return upstream === null ? null : (policy.polls.get(upstream.connection) ?? null);
}

function withJitter(ms: number, { jitter }: Policy): number {
  return Math.round(ms * (1 + JITTER * jitter));
}
