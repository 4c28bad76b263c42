import type { NoticeKind } from "./operator-notice.ts";
import type { PollPlan } from "./poll-plan.ts";
import { storedBytes } from "../stored-bytes.ts";
import type { Job, UpstreamNews } from "./upstream.ts";

/**
 * State of the search for the result of an open task: the plan of its polls, and the hooks that were stored because
 * no job was attached yet.
 */
export interface Tracking {
  /** Plan of the next poll; null until a job is attached. */
  readonly poll: PollPlan | null;
  /**
   * Unverified hooks that arrived before a job was attached to the task. For each job and status, only the latest
   * hook is stored.
   */
  readonly keptHooks: readonly KeptHook[];
  /** True when the deadline has been extended already. This happens at most once. */
  readonly isExtended: boolean;
  /**
   * Kinds of operator notices that this task has caused already because of answers to polls. It causes each kind at
   * most once.
   */
  readonly told: readonly NoticeKind[];
  /**
   * Hooks that came to a valid hook URL of the task and were refused. For each reason, the first three are stored.
   */
  readonly refusedHooks: readonly RefusedHook[];
}

export interface RefusedHook {
  readonly at: number;
  readonly reason: HookRefusal;
}

export type HookRefusal = (typeof HOOK_REFUSALS)[number];

/**
 * Reasons why a hook about the job of a task is not understood: the relay does not know its format, or does not know
 * the word with which it names the state of the job.
 */
export type UnreadHook = (typeof UNREAD_HOOKS)[number];

export const UNREAD_HOOKS = [
  "malformed",
  "unknown_state",
] as const satisfies readonly HookRefusal[];

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
  /** Reason why the hook was not understood. Absent for a hook that was understood. */
  readonly unread?: UnreadHook;
}

const MAX_KEPT = 8;
const MAX_KEPT_BYTES = 8192;
/**
 * Largest number of refused hooks that a task stores for each reason of refusal. It is small, because each stored hook
 * costs a write to the storage.
 */
const MAX_REFUSED = 3;

/**
 * Returns the tracking of a task with one more hook, which is stored until a job is attached. Null when the hook would
 * take more than 8 KiB. A hook that is not stored causes no loss, because the job is polled after it has been attached.
 */
export function keepHook(tracking: Tracking, hook: KeptHook): Tracking | null {
  if (storedBytes(hook) > MAX_KEPT_BYTES) return null;
  const others = tracking.keptHooks.filter(
    ({ jobId, news }) => jobId !== hook.jobId || news.status !== hook.news.status,
  );
  return { ...tracking, keptHooks: [...others, hook].slice(-MAX_KEPT) };
}

/**
 * Returns the tracking of a task with one more refused hook. It stays the same when three hooks refused for this reason
 * are stored already.
 */
export function noteRefusedHook(tracking: Tracking, reason: HookRefusal, now: number): Tracking {
  const { refusedHooks } = tracking;
  if (refusedHooks.filter((hook) => hook.reason === reason).length >= MAX_REFUSED) return tracking;
  return { ...tracking, refusedHooks: [...refusedHooks, { at: now, reason }] };
}

/**
 * Returns the ids of the jobs that the stored hooks name. Each id occurs once, at the position of the oldest stored
 * hook that names it. Hooks are stored only while no job is attached to the task.
 */
export function keptJobIds({ keptHooks }: Tracking): readonly string[] {
  return [...new Set(keptHooks.flatMap(({ jobId }) => jobId ?? []))];
}

/**
 * Returns the tracking of a task without the stored hooks that name this job. They are removed because a poll has
 * not confirmed that the job belongs to the task.
 */
export function withoutKeptJob(tracking: Tracking, { id }: Job): Tracking {
  return { ...tracking, keptHooks: tracking.keptHooks.filter(({ jobId }) => jobId !== id) };
}
