import { submittedAgain } from "./submit-again.ts";
import { withUpstreamNotice } from "./upstream-notices.ts";
import { changed, type Decision, unchanged } from "./decision.ts";
import type { PollAnswer, PollEndedEvent } from "./event.ts";
import { finishAtDeadline, finishFromNews } from "./finish.ts";
import { DEADLINE_EXTENSION, type Policy } from "../policy.ts";
import { isHintedSince, finalNoOutputPollAt, finalPollAt } from "../polls/next-poll.ts";
import { canCancelJob, deadlineCancellation } from "../record/cancellation.ts";
import { hasCustomerKey } from "../record/customer-key.ts";
import { ANSWER_KINDS, type PollPlan, type UpstreamAnswer } from "../record/poll-plan.ts";
import {
  isOpen,
  nextVersion,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import { sameJob, type UpstreamEnd, type UpstreamNews } from "../record/upstream.ts";

/** Largest random addition to the wait that a provider demands, as a fraction of this wait. */
const RETRY_JITTER = 0.2;
/**
 * Members `statusCode` and `word` of the stored kind of an answer to a poll. They are null because the answer was
 * understood.
 */
const UNWORDED = { statusCode: null, word: null };

/**
 * Returns the effect of the answer to a poll. An answer that says that the job has ended ends the task. At the
 * deadline, the deadline is extended once if the upstream is still at work; otherwise the job is canceled if possible,
 * and the task fails. An answer of the same kind as the previous one changes nothing, so that a poll without news costs
 * no write of the record.
 */
export function endPoll(
  record: TaskRecord | null,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record)) return unchanged(record);
  const poll = planFor(event, record);
  if (poll === null) return unchanged(record);
  const { answer, askedAt } = event;
  const news = answer.kind === "news" ? answer.news : null;
  if (news !== null && isEnd(news, poll, askedAt)) {
    const again = submittedAgain(record, news, "poll", policy, now);
    return changed(again ?? finishFromNews(record, news, "poll", policy, now));
  }
  const answered = withAnswer(record, poll, answer, policy, now);
  const task = withUpstreamNotice(record, answered, answer, policy, now);
  const isAtDeadline = finalPollAt(record) <= Math.min(now, askedAt);
  if (!isAtDeadline || finalPollAt(task) > now)
    return task === record ? unchanged(record) : changed(task);
  return changed(atDeadline(record, task, poll, event, policy, now));
}

/**
 * Returns the effect of the final poll of a task if it has brought no result. The first time the deadline is extended;
 * the next time the upstream is asked to cancel the job; after that the task fails.
 * @param before the task before the answer.
 * @param task the task with the answer stored.
 */
function atDeadline(
  before: OpenTask,
  task: OpenTask,
  poll: PollPlan,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): OpenTask | TerminalTask {
  const isCanceling = task.cancellation !== null && task.cancellation.endsAt !== null;
  if (isCanceling) return finishAtDeadline(before, policy, now);
  if (!task.tracking.isExtended && deservesExtension(poll, event)) return extendDeadline(task, now);
  if (!canCancelJob(task, policy)) return finishAtDeadline(before, policy, now);
  const cancellation = deadlineCancellation(task.cancellation, now);
  return { ...task, version: nextVersion(task, now), cancellation };
}

/**
 * Returns the plan of polls of the polled job. Null when the event says that the poll was not sent. Null also when
 * another job has been attached to the task since: it may have the same id, if the job before ran at another member of
 * the pool.
 */
function planFor({ job, answer, askedAt }: PollEndedEvent, task: OpenTask) {
  const { upstream, tracking, submission } = task;
  if (answer.kind === "deferred" || !sameJob(upstream?.job ?? null, job)) return null;
  const isEarlier = tracking.poll !== null && askedAt < tracking.poll.attachedAt;
  return isEarlier && submission?.failedJobs !== undefined ? null : tracking.poll;
}

/**
 * Tells whether the reported state of the job ends the task. Success without output ends the task only after the
 * upstream has reported it for ten minutes, because the output may still follow.
 */
function isEnd(news: UpstreamNews, { answer }: PollPlan, askedAt: number): news is UpstreamEnd {
  if (news.status === "no_output")
    return answer?.kind === "no_output" && askedAt >= finalNoOutputPollAt(answer);
  return news.status === "completed" || news.status === "failed";
}

/**
 * Tells whether the deadline is extended: when the answer to the final poll states the job's status, when the provider
 * refused this poll by a rate limit, and when a hook has claimed the end of the job since this poll was sent.
 */
function deservesExtension(poll: PollPlan, { answer, askedAt }: PollEndedEvent): boolean {
  return answer.kind === "news" || answer.kind === "limited" || isHintedSince(poll, askedAt);
}

/**
 * Returns the task with what is new in the answer to a poll: its kind, if the previous answer was of another kind; the
 * time since when no poll was answered; and the wait that the provider demands. Returns the same record when nothing is
 * new. The version of the record rises only when something changes that readers see: the status of the task, whether
 * the upstream refuses the customer's key and, for the operator, whether the answers are understood.
 */
function withAnswer(
  task: OpenTask,
  poll: PollPlan,
  answer: PollAnswer,
  policy: Policy,
  now: number,
): OpenTask {
  const known = isNoOutputKept(poll, answer, now) ? null : answerOf(answer, now);
  const planned = planAfter(poll, known, retryAt(answer, policy, now), now);
  const plan = withSilence(planned, answer.kind === "unanswered", now);
  const isStarted = known?.kind === "processing" && task.status !== "processing";
  if (plan === poll && !isStarted) return task;
  const isKeyNews = hasCustomerKey(task) && isKeyRefused(poll) !== isKeyRefused(plan);
  const isShown = isStarted || isKeyNews || isUnclear(poll) !== isUnclear(plan);
  return {
    ...task,
    ...(isShown && { version: nextVersion(task, now) }),
    ...(isStarted && { status: "processing" }),
    tracking: { ...task.tracking, poll: plan },
  };
}

/**
 * Returns the plan of polls after an answer, with the kind of the answer, if it differs from the stored kind, and the
 * time before which the provider allows no poll. This time is stored even when the next regular poll comes later,
 * because a hook or the deadline may cause an earlier poll. Returns the same plan when neither has changed.
 * @param known kind of the answer; null when the stored kind must stay.
 */
function planAfter(
  poll: PollPlan,
  known: UpstreamAnswer | null,
  allowedAt: number,
  now: number,
): PollPlan {
  const isOther = known !== null && known.kind !== poll.answer?.kind;
  const isNamed = allowedAt > Math.max(now, poll.notBefore);
  if (!isOther && !isNamed) return poll;
  return {
    ...poll,
    ...(isOther && { answer: known }),
    ...(isNamed && { notBefore: allowedAt }),
  };
}

/**
 * Returns the plan with the time since when no poll was answered. Only the first poll without an answer sets this time;
 * an answered poll removes it.
 */
function withSilence(plan: PollPlan, isUnanswered: boolean, now: number): PollPlan {
  const unansweredSince = isUnanswered ? (plan.unansweredSince ?? now) : null;
  return unansweredSince === plan.unansweredSince ? plan : { ...plan, unansweredSince };
}

function isUnclear({ answer }: PollPlan): boolean {
  return answer?.kind === "unclear";
}

function isKeyRefused({ answer }: PollPlan): boolean {
  return answer?.kind === "unauthorized";
}

/**
 * Tells whether the stored kind "success without output" stays after another answer to a poll. It stays for ten
 * minutes, unless the new answer states the status of the job. If an answer that only refuses the poll (rate limit)
 * replaced the stored kind, the ten minutes would begin again or, after the deadline, the task would end too soon.
 */
function isNoOutputKept({ answer: last }: PollPlan, { kind }: PollAnswer, now: number): boolean {
  return last?.kind === "no_output" && kind !== "news" && now < finalNoOutputPollAt(last);
}

/**
 * Returns the kind and time of an answer to a poll in the form in which the plan of polls stores them. Null when the
 * stored kind is to stay: when the provider did not answer, and when the answer ends the task.
 */
function answerOf(answer: PollAnswer, since: number): UpstreamAnswer | null {
  const name = answer.kind === "news" ? answer.news.status : answer.kind;
  const kind = ANSWER_KINDS.find((each) => each === name);
  if (kind === undefined) return null;
  const { statusCode, word } = answer.kind === "unclear" ? answer : UNWORDED;
  return { kind, since, statusCode, word };
}

/**
 * Returns the time at which a provider allows the next poll, plus a random part, if the provider has refused a poll by
 * a rate limit or cannot answer for a while. The random part is needed because the provider names the same time to many
 * tasks. 0 when the provider names no time.
 */
function retryAt(answer: PollAnswer, { jitter }: Policy, now: number): number {
  const waitMs = waitNamedIn(answer);
  return waitMs === null ? 0 : now + Math.round(waitMs * (1 + RETRY_JITTER * jitter));
}

/** Returns the wait that the provider demands in its answer to a poll, in milliseconds. Null when it demands none. */
export function waitNamedIn(answer: PollAnswer): number | null {
  return answer.kind === "limited" || answer.kind === "unanswered"
    ? (answer.retryAfterMs ?? null)
    : null;
}

/**
 * Returns the task with an extended deadline. The new deadline is `now` plus a quarter of the time from the task's
 * creation to its previous deadline.
 */
export function extendDeadline(task: OpenTask, now: number): OpenTask {
  const deadlineAt = now + Math.round((task.deadlineAt - task.createdAt) * DEADLINE_EXTENSION);
  const version = nextVersion(task, now);
  return { ...task, version, deadlineAt, tracking: { ...task.tracking, isExtended: true } };
}
