import { backoff } from "../backoff.ts";
import type { Policy, PollLimits } from "../policy.ts";
import { MINUTE_MS } from "../time.ts";
import type { OpenTask } from "./task.ts";
import type { Job, Upstream, UpstreamNews } from "./upstream.ts";

/** How the result of an open task is found. */
export interface Tracking {
  /** Null until a job is attached. */
  readonly poll: PollPlan | null;
  /** Unverified hooks from before the attachment: the last one of each job and status. */
  readonly keptHooks: readonly KeptHook[];
  /** True once the deadline has been extended, which happens at most once. */
  readonly isExtended: boolean;
}

/** When the upstream is polled next; times in Unix milliseconds. */
export interface PollPlan {
  readonly at: number;
  /** Polls that ended without a final result. */
  readonly tries: number;
  /** Hooks that asked for an earlier poll. A poll that began with another count was overtaken by one. */
  readonly nudges: number;
  /**
   * Earliest time of the next poll, even after a nudge: the provider's least interval or its
   * `Retry-After`.
   */
  readonly notBefore: number;
  /** True once success without output was reported; the next poll that says so too fails the task. */
  readonly isOutputMissing: boolean;
}

export interface KeptHook {
  /** The job that the hook names; null when it names none. */
  readonly jobId: string | null;
  readonly news: UpstreamNews;
}

const MAX_WAIT_MS = 5 * MINUTE_MS;
/** The largest part by which a wait is made longer at random. */
const JITTER = 0.2;
const MAX_KEPT = 8;
const MAX_KEPT_BYTES = 8192;

/** Returns the tracking of a task that becomes open at `now`. */
export function trackingOf(upstream: Upstream | null, policy: Policy, now: number): Tracking {
  const limits = upstream?.job == null ? undefined : policy.polls.get(upstream.connection);
  const poll = upstream?.job == null ? null : planFirstPoll(limits, policy, now);
  return { poll, keptHooks: [], isExtended: false };
}

/** Tells whether the upstream can be polled: its key is configured, and it still knows a job so old. */
export function canPoll(task: OpenTask, policy: Policy, now: number): boolean {
  const limits = limitsOf(task, policy);
  if (limits === null) return false;
  const askAt = Math.max(now, task.tracking.poll?.notBefore ?? 0);
  return limits.maxAgeMs === null || askAt < task.createdAt + limits.maxAgeMs;
}

/** Returns the job to poll at `now`; null when there is none, or when it cannot be polled. */
export function pollableJob(task: OpenTask, policy: Policy, now: number): Job | null {
  return canPoll(task, policy, now) ? (task.upstream?.job ?? null) : null;
}

/**
 * Plans the first poll of a job.
 * @param limits of the connection; undefined while its key is not configured, and the plan waits for one.
 */
export function planFirstPoll(
  limits: PollLimits | undefined,
  policy: Policy,
  now: number,
): PollPlan {
  const at = now + withJitter(limits?.firstMs ?? 0, policy);
  return { at, tries: 0, nudges: 0, notBefore: 0, isOutputMissing: false };
}

/** Plans the poll after one without a final result: later each time, or at once when it was overtaken. */
export function planNextPoll(
  plan: PollPlan,
  task: OpenTask,
  { isOvertaken, retryAfterMs }: { isOvertaken: boolean; retryAfterMs: number | null },
  policy: Policy,
  now: number,
): PollPlan {
  const { firstMs, gapMs } = limitsOf(task, policy) ?? { firstMs: MAX_WAIT_MS, gapMs: 0 };
  const tries = plan.tries + 1;
  const waitMs = Math.min(withJitter(backoff(firstMs, tries, MAX_WAIT_MS), policy), MAX_WAIT_MS);
  const notBefore = now + Math.max(gapMs, retryAfterMs ?? 0);
  const at = isOvertaken ? notBefore : Math.max(now + waitMs, notBefore);
  return { ...plan, at, tries, notBefore };
}

/**
 * Brings the next poll forward to now, or to the earliest time that the provider allows. Changes nothing
 * when it is planned for that time already and cannot have begun.
 */
export function nudge(plan: PollPlan, now: number): PollPlan {
  const at = Math.max(now, plan.notBefore);
  return at === plan.at && at > now ? plan : { ...plan, at, nudges: plan.nudges + 1 };
}

/**
 * Keeps a hook until the job is attached. Returns null when it is too large; nothing is lost then, because
 * the upstream is polled after the attachment anyway.
 */
export function keepHook(tracking: Tracking, hook: KeptHook): Tracking | null {
  const { length } = new TextEncoder().encode(JSON.stringify(hook));
  if (length > MAX_KEPT_BYTES) return null;
  const others = tracking.keptHooks.filter(
    ({ jobId, news }) => jobId !== hook.jobId || news.status !== hook.news.status,
  );
  return { ...tracking, keptHooks: [...others, hook].slice(-MAX_KEPT) };
}

function limitsOf({ upstream }: OpenTask, policy: Policy): PollLimits | null {
  return upstream === null ? null : (policy.polls.get(upstream.connection) ?? null);
}

function withJitter(ms: number, { jitter }: Policy): number {
  return Math.round(ms * (1 + JITTER * jitter));
}
