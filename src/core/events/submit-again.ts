import { isStorable } from "../plans/stored-size.ts";
import type { Policy } from "../policy.ts";
import { canPoll } from "../polls/next-poll.ts";
import type { FailedJob } from "../record/failed-job.ts";
import type { FoundBy } from "../record/finding.ts";
import { type AccountRefusal, accountRefusalOf } from "../record/refusal.ts";
import { queuedAgain, type Submission } from "../record/submission.ts";
import {
  addressedName,
  isOpen,
  nextVersion,
  type OpenTask,
  type TaskRecord,
} from "../record/task.ts";
import type { FailureCategory, UpstreamNews } from "../record/upstream.ts";

/** Categories of failures after which another member of a pool may succeed with the same call. */
const OF_THE_MEMBER: ReadonlySet<FailureCategory> = new Set([
  "provider",
  "timeout",
  "rate_limited",
]);

/** What the object of a kept call does next. */
export type FollowUp =
  /** The job runs: the call is kept, and the task is asked again later. */
  | { readonly kind: "keep" }
  /**
   * The job has failed: the call asks for a place at another member. `refusal` is the class of a refusal for which the
   * failure stands, if it is about the account at the upstream; null for any other.
   */
  | { readonly kind: "again"; readonly refusal: AccountRefusal | null }
  /** The call is not submitted again, and can be forgotten. */
  | { readonly kind: "gone" };

const GONE: FollowUp = { kind: "gone" };

/**
 * Returns the task after its job has failed, if the call is submitted to another member of the pool: it waits for a
 * place there, with its price and its deadline. Null when the failure ends the task: no further member is left, every
 * member would fail in the same way, nothing proves that the present job has ended, somebody has ordered to cancel
 * the task, or no call may begin any more.
 * @param news state of the job as the upstream itself has reported it, in an answer to a poll or in a signed hook.
 */
export function submittedAgain(
  task: OpenTask,
  news: UpstreamNews,
  foundBy: FoundBy,
  policy: Policy,
  now: number,
): OpenTask | null {
  const kept = keptJobOf(task);
  if (kept === null || news.status !== "failed" || !mayElsewhereSucceed(news)) return null;
  const { submission, stay, upstream, answered } = kept;
  if (task.cancellation !== null || stay.startBy <= now || !canPoll(task, policy, now)) return null;
  const ended = { ...upstream, ...answered, attempt: stay.attempt, at: now, news, foundBy };
  const failedJobs: readonly FailedJob[] = [...(submission.failedJobs ?? []), ended];
  const waiting = {
    ...task,
    version: nextVersion(task, now),
    upstream: { connection: addressedName(task, upstream), job: null },
    tracking: { ...task.tracking, poll: null, keptHooks: [] },
    submission: { ...queuedAgain(submission, stay, now), failedJobs },
  };
  return isStorable(waiting) ? waiting : null;
}

/** Returns the present job of a task whose call is kept for further members of the pool. Null when it is not. */
function keptJobOf({ submission, upstream }: OpenTask) {
  if (submission === null || upstream === null || upstream.job === null) return null;
  const { state, stay, further } = submission;
  if (further === undefined || stay === undefined || state.kind !== "accepted") return null;
  const { answeredAt, statusCode } = state;
  const { connection, job } = upstream;
  return { submission, stay, upstream: { connection, job }, answered: { answeredAt, statusCode } };
}

/** Tells whether a failed job may succeed at another member. The account at this one may have no money or a bad key. */
function mayElsewhereSucceed({
  error,
  failure: { category, retryable },
}: Extract<UpstreamNews, { readonly status: "failed" }>): boolean {
  return (retryable && OF_THE_MEMBER.has(category)) || accountRefusalOf(error.code) !== null;
}

/**
 * Returns what the object of a kept call does next.
 * @param attempt number of the attempt that has started the job for whose failure the call is kept.
 */
export function followUpOf(
  record: TaskRecord | null,
  submissionId: string,
  attempt: number,
  now: number,
): FollowUp {
  const submission = record?.submission ?? null;
  if (record === null || submission?.id !== submissionId || !isOpen(record)) return GONE;
  const { stay, further } = submission;
  if (stay === undefined || further === undefined) return GONE;
  if (stay.attempt === attempt) return stay.startBy > now ? { kind: "keep" } : GONE;
  return stay.attempt === attempt + 1 ? afterJobOf(submission, attempt) : GONE;
}

/** Returns what follows the job of this attempt while the next attempt is the present one. */
function afterJobOf({ state, failedJobs }: Submission, attempt: number): FollowUp {
  const failed = failedJobs?.at(-1);
  if (state.kind !== "queued" || failed?.attempt !== attempt) return GONE;
  return { kind: "again", refusal: accountRefusalOf(failed.news.error.code) };
}

/**
 * Returns the id of the submission whose kept call must be told of a change: its job has failed, so that the call is
 * submitted again, or the task has ended, so that it is not. Null for any other change.
 */
export function keptCallToTell(before: TaskRecord | null, after: TaskRecord): string | null {
  const submission = before !== null && isOpen(before) ? before.submission : null;
  if (submission === null || !isKept(submission)) return null;
  return isOpen(after) && after.submission?.state.kind === "accepted" ? null : submission.id;
}

function isKept({ state, further }: Submission): boolean {
  return state.kind === "accepted" && further !== undefined;
}
