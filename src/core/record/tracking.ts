import type { Policy } from "../policy.ts";
import type { NoticeKind } from "./notice.ts";
import { canPoll, NOTHING_EXPECTED, planPolls, type PollPlan } from "./poll-plan.ts";
import { storedBytes } from "./stored-size.ts";
import type { OpenTask } from "./task.ts";
import type { AttachedJob, Job, Upstream, UpstreamNews } from "./upstream.ts";

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
 * Returns the tracking (plan of polls and stored hooks) of a task that becomes open at `now`. No poll is
 * planned while no job is attached. The only jobs that are attached at this time are simulated ones of the
 * sandbox, so no hook is expected.
 */
export function trackingOf(upstream: Upstream | null, policy: Policy, now: number): Tracking {
  const limits = upstream?.job == null ? undefined : policy.polls.get(upstream.connection);
  const poll = upstream?.job == null ? null : planPolls(NOTHING_EXPECTED, limits, now);
  return { poll, keptHooks: [], isExtended: false, told: [], refusedHooks: [] };
}

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
 * Returns the job to poll at the deadline of a task to which no job was attached, with its connection: the last
 * of `keptJobIds`, the jobs that stored hooks name. Null when there is none, or when the provider's answers do
 * not show for which task a job was submitted: whoever knows a hook URL could then name the job of another task.
 */
export function keptJobToAsk(task: OpenTask, policy: Policy): AttachedJob | null {
  if (task.upstream?.job !== null) return null;
  const { connection } = task.upstream;
  const isNamed = policy.polls.get(connection)?.isTaskNamed === true;
  if (!isNamed || !canPoll(task, policy, task.deadlineAt)) return null;
  const id = keptJobIds(task.tracking).at(-1);
  return id === undefined ? null : { connection, job: { id, endpoint: null } };
}

/**
 * Removes the stored hooks that name this job, because a poll has not confirmed that the job belongs to the
 * task.
 */
export function withoutKeptJob(tracking: Tracking, { id }: Job): Tracking {
  return { ...tracking, keptHooks: tracking.keptHooks.filter(({ jobId }) => jobId !== id) };
}
