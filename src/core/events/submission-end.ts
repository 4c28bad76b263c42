import { changed, type Decision, erasure, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { RefusedOutcome, SubmitEndedEvent, SubmitOutcome } from "./event.ts";
import {
  finishAsLastJob,
  finishFromNews,
  finishRefused,
  finishUnknownSubmission,
  finishUnsent,
  NOT_SENT,
  QUEUE_TIMEOUT,
} from "./finish.ts";
import { attachWithHooks } from "./hooks.ts";
import type { Policy } from "../policy.ts";
import { hasCustomerKey } from "../record/customer-key.ts";
import { hasFailedSince } from "../record/failed-job.ts";
import { endOfRefusal } from "../record/refusal.ts";
import { isCharging, startReturn } from "../record/credits.ts";
import { isLateResultKnown, isTimedOut, withLateResult } from "../plans/late-result.ts";
import { awaitedNews } from "../record/awaited-news.ts";
import {
  isLastingAnswer,
  isQueued,
  isSending,
  keptFor,
  neverSent,
  type Submission,
  type SubmissionAnswer,
  unknownFrom,
  unknownOutcomeOf,
  withRefusedAttempt,
} from "../record/submission.ts";
import {
  type ChargingTask,
  isOpen,
  nextVersion,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import { keptJobIds } from "../record/tracking.ts";

/** The record of a task whose job the relay submits itself. */
type Submitted<T extends TaskRecord> = T & { readonly submission: Submission };

/**
 * Returns the effect of the end of a submission. Even when the outcome counts as unknown already, an answer attaches
 * the job or shows that there is none. The answer to the submission of an earlier task with the same id is rejected.
 */
export function endSubmission(
  record: TaskRecord | null,
  { submissionId, outcome, isTaskKnown, attempt, further = [] }: SubmitEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isSubmitted(record) || record.submission.id !== submissionId) {
    return UNKNOWN_TASK;
  }
  // A repeated report about a job that has failed must not attach that job again.
  if (hasFailedSince(record.submission, attempt)) return unchanged(record);
  if (record.status === "charging") return dropUnsent(record, outcome);
  if (!isOpen(record)) return endLate(record, outcome, policy, now);
  switch (outcome.kind) {
    case "accepted":
    case "result":
      return isAnswered(record.submission)
        ? unchanged(record)
        : changed(accept(record, outcome, further, policy, now));
    case "refused":
    case "not_sent":
      return refuse(record, outcome, isTaskKnown === true, policy, now);
    case "unknown":
      return isQueued(record.submission) || isSending(record.submission)
        ? changed(loseSight(record, outcome, policy, now))
        : unchanged(record);
  }
}

/**
 * Returns the effect of the moment when a submission has waited for too long: its call was not sent, or its outcome has
 * stayed unknown and no job has become known. The task fails. If the caller waits, no attempt has followed a refused one,
 * because the Worker has ended: the submission is then withdrawn, as after any refusal.
 */
export function endLostSubmission(
  record: TaskRecord | null,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record)) return unchanged(record);
  if (!isSubmitted(record)) return unchanged(record);
  const { state, isCall } = record.submission;
  if (state.kind !== "queued" && state.kind !== "unknown") return unchanged(record);
  if (state.failsAt > now) return unchanged(record);
  if (state.kind === "unknown") return changed(finishUnknownSubmission(record, null, policy, now));
  return isCall === true
    ? changed(finishUnsent(record, QUEUE_TIMEOUT, policy, now))
    : withdraw(record, now);
}

/**
 * Returns the task after the outcome of its submission has become unknown. The task fails at once when nothing (no hook
 * and no poll) can show any more whether there is a job.
 */
function loseSight(
  task: Submitted<OpenTask>,
  { statusCode, unread }: Extract<SubmitOutcome, { readonly kind: "unknown" }>,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const hasNamedJob = keptJobIds(task.tracking).length > 0;
  const isLost = awaitedNews(task) === null;
  const waitMs = isLost ? 0 : policy.submitUnknownMs;
  const state = unknownFrom(statusCode, hasNamedJob, waitMs, now);
  const unknown = { ...task, submission: { ...task.submission, state } };
  return isLost
    ? finishUnknownSubmission(unknown, unread ?? null, policy, now)
    : { ...unknown, version: nextVersion(task, now) };
}

/** Tells whether an answer of the upstream has shown already that the upstream has accepted the submission. */
function isAnswered({ state }: Submission): boolean {
  return state.kind === "accepted" && state.answeredAt !== null;
}

function isSubmitted<T extends TaskRecord>(record: T): record is Submitted<T> {
  return record.submission !== null;
}

/**
 * Returns the effect of the news that the call of a submission will not be sent, on a task whose price is still being
 * charged: the price is given back as soon as it is charged.
 */
function dropUnsent(record: Submitted<ChargingTask>, { kind }: SubmitOutcome): Decision {
  const isKnown = record.submission.state.kind === "unsent";
  if (kind !== "not_sent" || isKnown || !isCharging(record.credits)) return unchanged(record);
  return changed({ ...record, submission: neverSent(record.submission) });
}

/**
 * Returns the task after the upstream has accepted its submission. If the upstream's answer is itself the result of the
 * job, it ends the task. Otherwise the job that the answer names is attached, in place of any job that a hook has
 * attached before.
 */
function accept(
  task: Submitted<OpenTask>,
  outcome: Extract<SubmitOutcome, { readonly kind: "accepted" | "result" }>,
  further: readonly string[],
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const { statusCode, answer, job } = outcome;
  const state = { kind: "accepted", answeredAt: now, statusCode } as const;
  const submission: Submission = { ...keptFor(task.submission, further), state, answer };
  const answered = { ...task, submission };
  const known = { ...answered, version: nextVersion(task, now) };
  if (task.upstream === null) return known;
  const { connection } = task.upstream;
  if (outcome.kind === "result") {
    const upstream = { connection, job: job ?? task.upstream.job };
    return finishFromNews({ ...answered, upstream }, outcome.news, "poll", policy, now);
  }
  if (isKnownJob(task, outcome.job)) return known;
  const attachment = { connection, job: outcome.job };
  return attachWithHooks(answered, attachment, outcome.isHookExpected, policy, now);
}

/**
 * Tells whether the job that the upstream's answer to the submission names is attached to the task already: by a hook,
 * or at the registration.
 */
function isKnownJob({ upstream }: OpenTask, job: { readonly id: string }): boolean {
  return upstream?.job?.id === job.id;
}

/**
 * Returns the effect of an answer of the upstream which shows that the submission has started no job. The caller of the
 * submission gets this answer, and the task is erased as soon as its price is given back. If the caller did not wait for
 * the answer, or was told of the task before it came, or if the outcome counted as unknown, the task fails instead.
 */
function refuse(
  task: Submitted<OpenTask>,
  outcome: Extract<SubmitOutcome, { readonly kind: "refused" | "not_sent" }>,
  isTaskKnown: boolean,
  policy: Policy,
  now: number,
): Decision {
  const { state, isCall } = task.submission;
  switch (state.kind) {
    case "queued":
    case "sending":
      if (isCall !== true && !isTaskKnown) return withdraw(task, now);
      if (outcome.kind === "not_sent") return changed(finishUnsent(task, NOT_SENT, policy, now));
      return changed(failRefused(task, outcome, policy, now));
    case "unknown":
      if (outcome.kind === "not_sent") return unchanged(task);
      return changed(failRefused(task, outcome, policy, now));
    case "accepted":
    case "unsent":
      return unchanged(task);
  }
}

/**
 * Returns a task that fails because the upstream has refused its submission. The submission keeps its answer, if the
 * outcome has one. A task whose job has failed at another member before fails as that job did.
 */
function failRefused(
  task: Submitted<OpenTask>,
  outcome: RefusedOutcome,
  policy: Policy,
  now: number,
): TerminalTask {
  const { statusCode, refusal, answer = null } = outcome;
  const failed = finishAsLastJob(withRefusalNoted(task, outcome, now), policy, now);
  if (failed !== null) return failed;
  const end = outcome.end ?? endOfRefusal(refusal, statusCode, hasCustomerKey(task));
  const unknown = unknownOutcomeOf(task.submission) ?? unknownFrom(statusCode, false, 0, now);
  const state = { ...unknown, answeredAt: now, statusCode, refusal };
  const submission = { ...task.submission, answer, state };
  return finishRefused({ ...task, submission }, end, policy, now);
}

/** Returns a task with a refused attempt that ends its submission; the refusals of others were noted before. */
function withRefusalNoted(
  task: Submitted<OpenTask>,
  { statusCode, refusal }: Extract<SubmitOutcome, { readonly kind: "refused" }>,
  now: number,
): Submitted<OpenTask> {
  const { submission, upstream } = task;
  if (upstream === null || isQueued(submission)) return task;
  const refused = { connection: upstream.connection, at: now, statusCode, refusal };
  return { ...task, submission: withRefusedAttempt(submission, refused) };
}

/**
 * Returns the effect of withdrawing a submission that has started no job: the task is erased. If the task has a price,
 * it is first hidden from readers, and erased when the price has been given back.
 */
function withdraw(task: Submitted<OpenTask>, now: number): Decision {
  const { tracking: _, notices: __, ...base } = task;
  if (task.credits === null) return erasure(task, "not_submitted");
  const version = nextVersion(task, now);
  const credits = startReturn(task.credits, now);
  return changed({ ...base, version, account: null, credits, status: "charging" });
}

/**
 * Returns the effect of an answer to the submission that comes after the task has ended. The result of the task does
 * not change. If the task has failed because its job was not known, the job is attached, so that a success of the job
 * is found and reported to the operator. If a hook has brought the result before the answer, the answer is stored, so
 * that the caller of the submission finds the job, and a repeated call gets the answer.
 */
function endLate(
  task: Submitted<TerminalTask>,
  outcome: SubmitOutcome,
  policy: Policy,
  now: number,
): Decision {
  if (outcome.kind !== "accepted" && outcome.kind !== "result") return unchanged(task);
  if (isAnswered(task.submission) || task.upstream === null) return unchanged(task);
  const { statusCode, job, answer } = outcome;
  const state = { kind: "accepted", answeredAt: now, statusCode } as const;
  const version = nextVersion(task, now);
  if (task.submission.state.kind === "accepted") {
    const submission = { ...task.submission, state, answer: lastingOf(answer) };
    return changed({ ...task, version, submission });
  }
  const known: TerminalTask = {
    ...task,
    version,
    submission: { ...task.submission, state },
    upstream: { ...task.upstream, job: job ?? task.upstream.job },
  };
  const isSuccess = outcome.kind === "result" && outcome.news.status === "completed";
  if (!isSuccess || !isTimedOut(known) || isLateResultKnown(known)) return changed(known);
  return changed(withLateResult(known, outcome.news, policy, now), "late_result");
}

/** Returns the upstream's answer, or null when it is too large to be stored in a task that may be settled. */
function lastingOf(answer: SubmissionAnswer | null): SubmissionAnswer | null {
  return answer !== null && isLastingAnswer(answer) ? answer : null;
}
