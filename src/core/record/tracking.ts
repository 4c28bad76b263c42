import type { Policy } from "../policy.ts";
import type { OpenTask } from "./task.ts";
import type { Job, Upstream, UpstreamNews } from "./upstream.ts";

/** How the result of an open task is looked for. */
export interface Tracking {
  /** Null: no job is attached. */
  readonly poll: PollPlan | null;
  /** Hooks that came before the job was attached and could not be believed: the last of each job and status. */
  readonly keptHooks: readonly KeptHook[];
  /** The deadline has been put off once, because the upstream was still at work. */
  readonly isExtended: boolean;
}

/** When the upstream is asked next; times in Unix milliseconds. */
export interface PollPlan {
  readonly at: number;
  readonly tries: number;
  /** Whatever nudges: the provider's own limit, or what it asked for with `Retry-After`. */
  readonly notBefore: number;
  /** Something said success without output; the next poll that says so too ends the task. */
  readonly isOutputMissing: boolean;
}

export interface KeptHook {
  readonly jobId: string | null;
  readonly news: UpstreamNews;
}

/** What a provider allows. */
export interface PollLimits {
  /** From the attachment to the first poll; each wait after it is twice as long, at most 5 minutes. */
  readonly firstMs: number;
  /** Least time between two polls of one task. */
  readonly gapMs: number;
  /** After so long the provider has forgotten a job. */
  readonly maxAgeMs: number | null;
}

const MAX_WAIT_MS = 300_000;
const JITTER = 0.2;
const MAX_KEPT = 8;
const MAX_KEPT_BYTES = 8192;

export function trackingOf(upstream: Upstream | null, policy: Policy, now: number): Tracking {
  const limits = upstream?.job == null ? undefined : policy.polls.get(upstream.connection);
  const poll = upstream?.job == null ? null : firstPoll(limits, policy, now);
  return { poll, keptHooks: [], isExtended: false };
}

/** Whether the upstream can be asked: its key is configured, and it will still know such an old job. */
export function canPoll(task: OpenTask, policy: Policy, now: number): boolean {
  const limits = limitsOf(task, policy);
  if (limits === null) return false;
  const askAt = Math.max(now, task.tracking.poll?.notBefore ?? 0);
  return limits.maxAgeMs === null || askAt < task.createdAt + limits.maxAgeMs;
}

/** The job to ask after; null: there is none, or it cannot be asked after. */
export function pollableJob(task: OpenTask, policy: Policy, now: number): Job | null {
  return canPoll(task, policy, now) ? (task.upstream?.job ?? null) : null;
}

/** `limits` are missing where no key is configured yet: then the plan waits for one. */
export function firstPoll(limits: PollLimits | undefined, policy: Policy, now: number): PollPlan {
  const firstMs = limits?.firstMs ?? 0;
  return { at: now + jittered(firstMs, policy), tries: 0, notBefore: 0, isOutputMissing: false };
}

/** The poll has told nothing final: the next one later, or at once where something nudged meanwhile. */
export function laterPoll(
  plan: PollPlan,
  task: OpenTask,
  { isNudged, retryAfterMs }: { readonly isNudged: boolean; readonly retryAfterMs: number | null },
  policy: Policy,
  now: number,
): PollPlan {
  const { firstMs, gapMs } = limitsOf(task, policy) ?? { firstMs: MAX_WAIT_MS, gapMs: 0 };
  const tries = plan.tries + 1;
  const waitMs = Math.min(jittered(firstMs * 2 ** Math.min(tries, 16), policy), MAX_WAIT_MS);
  const notBefore = now + Math.max(gapMs, retryAfterMs ?? 0);
  const at = isNudged ? notBefore : Math.max(now + waitMs, notBefore);
  return { ...plan, at, tries, notBefore };
}

/** Asked at once, or as soon as allowed. Its time differs from the one that a running poll was due at. */
export function nudgedPoll(plan: PollPlan, now: number): PollPlan {
  // Nudged in this very millisecond already, while a poll that was due now is running.
  if (plan.at === now + 1) return plan;
  const at = Math.max(now, plan.notBefore, plan.at <= now ? plan.at + 1 : 0);
  return { ...plan, at };
}

/** Null: too large to keep; nothing is lost, for the upstream is asked after the attachment anyway. */
export function withKept(tracking: Tracking, hook: KeptHook): Tracking | null {
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

function jittered(ms: number, { jitter }: Policy): number {
  return Math.round(ms * (1 + JITTER * jitter));
}
