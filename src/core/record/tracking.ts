import type { NoticeKind } from "./operator-notice.ts";
import type { PollPlan } from "./poll-plan.ts";
import { storedBytes } from "./stored-size.ts";
import type { Job, UpstreamNews } from "./upstream.ts";

/**
 * State of the search for the result of an open task: the plan of its polls, and the hooks that are stored
 * until a job is attached.
 */
export interface Tracking {
  /** Plan of the next poll; null until a job is attached. */
  readonly poll: PollPlan | null;
  /**
   * Unverified hooks that arrived before a provider's job was attached to the task: the latest of each job
   * and status.
   */
  readonly keptHooks: readonly KeptHook[];
  /** States that the deadline has been extended, which happens at most once. */
  readonly isExtended: boolean;
  /**
   * Kinds of notices about the answers to polls that were made for this task already; each kind is made at
   * most once.
   */
  readonly told: readonly NoticeKind[];
  /** Hooks that came to a valid hook URL of the task and were refused: the first three for each reason. */
  readonly refusedHooks: readonly RefusedHook[];
}

export interface RefusedHook {
  readonly at: number;
  readonly reason: HookRefusal;
}

export type HookRefusal = (typeof HOOK_REFUSALS)[number];

export const HOOK_REFUSALS = [
  "bad_signature",
  "malformed",
  "unknown_state",
  "other_task",
  "other_job",
] as const;

export interface KeptHook {
  /** Id of the job that the hook names; null when the hook names none. */
  readonly jobId: string | null;
  readonly news: UpstreamNews;
}

const MAX_KEPT = 8;
const MAX_KEPT_BYTES = 8192;
/** Largest number of refused hooks that are stored for each reason, because each is a write to the storage. */
const MAX_REFUSED = 3;

/**
 * Stores a hook with the task until its job is attached. Nothing is lost when a hook is not stored, because
 * the upstream is polled after the attachment anyway. Returns null when the hook would take more than 8 KiB.
 */
export function keepHook(tracking: Tracking, hook: KeptHook): Tracking | null {
  if (storedBytes(hook) > MAX_KEPT_BYTES) return null;
  const others = tracking.keptHooks.filter(
    ({ jobId, news }) => jobId !== hook.jobId || news.status !== hook.news.status,
  );
  return { ...tracking, keptHooks: [...others, hook].slice(-MAX_KEPT) };
}

/**
 * Stores that a hook was refused; changes nothing when three hooks refused for this reason are stored
 * already.
 */
export function noteRefusedHook(tracking: Tracking, reason: HookRefusal, now: number): Tracking {
  const { refusedHooks } = tracking;
  if (refusedHooks.filter((hook) => hook.reason === reason).length >= MAX_REFUSED) return tracking;
  return { ...tracking, refusedHooks: [...refusedHooks, { at: now, reason }] };
}

/**
 * Returns the ids of the jobs that hooks have named and that are not attached to the task, from the hooks
 * stored with it: each id once, in the order of its oldest hook that is still stored.
 */
export function keptJobIds({ keptHooks }: Tracking): readonly string[] {
  return [...new Set(keptHooks.flatMap(({ jobId }) => jobId ?? []))];
}

/**
 * Removes the stored hooks that name this job, because a poll has not confirmed that the job belongs to the
 * task.
 */
export function withoutKeptJob(tracking: Tracking, { id }: Job): Tracking {
  return { ...tracking, keptHooks: tracking.keptHooks.filter(({ jobId }) => jobId !== id) };
}
