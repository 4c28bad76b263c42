import { withUpstreamNotice } from "./upstream-notices.ts";
import { changed, type Decision, unchanged } from "./decision.ts";
import type { PollAnswer, PollEndedEvent } from "./event.ts";
import { finishAtDeadline, finishFromNews } from "./finish.ts";
import { DEADLINE_EXTENSION, type Policy } from "../policy.ts";
import { isHintedSince, finalNoOutputPollAt, finalPollAt } from "../polls/next-poll.ts";
import { ANSWER_KINDS, type PollPlan, type UpstreamAnswer } from "../record/poll-plan.ts";
import { isOpen, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { sameJob, type UpstreamEnd, type UpstreamNews } from "../record/upstream.ts";

/** Largest random addition to the wait that a provider names, as a fraction of the wait. */
const RETRY_JITTER = 0.2;
/** Members of a stored answer to a poll that was understood. */
const UNWORDED = { statusCode: null, word: null };

/**
 * Applies the answer to a poll: ends the task, or, at the deadline, extends the deadline once for an upstream
 * that is still at work. An answer of the same kind as the previous one changes nothing, so that a poll without
 * news costs no write of the record.
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
    return changed(finishFromNews(record, news, "poll", policy, now));
  }
  const answered = withAnswer(record, poll, answer, policy, now);
  const task = withUpstreamNotice(record, answered, answer, policy, now);
  const isAtDeadline = finalPollAt(record) <= Math.min(now, askedAt);
  if (!isAtDeadline || finalPollAt(task) > now)
    return task === record ? unchanged(record) : changed(task);
  if (record.tracking.isExtended || !deservesExtension(poll, event)) {
    return changed(finishAtDeadline(record, policy, now));
  }
  return changed(extendDeadline(task, now));
}

/**
 * Returns the plan by which the job of a task is polled. Null when the event says that a poll was not sent, or
 * concerns another job than the one now attached to the task.
 */
function planFor({ job, answer }: PollEndedEvent, { upstream, tracking }: OpenTask) {
  const isMade = answer.kind !== "deferred";
  return isMade && sameJob(upstream?.job ?? null, job) ? tracking.poll : null;
}

/**
 * Tells whether the reported state of the job ends the task. Success without output ends it only when the
 * upstream has reported it for ten minutes, because the output may follow.
 */
function isEnd(news: UpstreamNews, { answer }: PollPlan, askedAt: number): news is UpstreamEnd {
  if (news.status === "no_output")
    return answer?.kind === "no_output" && askedAt >= finalNoOutputPollAt(answer);
  return news.status === "completed" || news.status === "failed";
}

/**
 * Tells whether the deadline is extended: true when the upstream reported progress or limited the rate of
 * polls, or when a hook claimed the end of the job during this poll.
 */
function deservesExtension(poll: PollPlan, { answer, askedAt }: PollEndedEvent): boolean {
  return answer.kind === "news" || answer.kind === "limited" || isHintedSince(poll, askedAt);
}

/**
 * Stores in the task what is new in the answer to a poll: its kind, if the previous answer was of another kind;
 * the time since which polls have got no answer; and the wait that the provider demands. Returns the same record
 * when nothing is new. The version of the record rises only for what readers see: a new status, and for the operator
 * the beginning or end of answers that are not understood.
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
  const isShown = isStarted || isUnclear(poll) !== isUnclear(plan);
  return {
    ...task,
    ...(isShown && { version: nextVersion(task, now) }),
    ...(isStarted && { status: "processing" }),
    tracking: { ...task.tracking, poll: plan },
  };
}

/**
 * Returns the plan of polls after an answer: with the kind of the answer, if it differs from the stored one,
 * and with the time before which the provider allows no poll. The time is stored also where the next regular
 * poll comes later, because a hook or the deadline may cause an earlier one. The same plan when the answer has
 * neither.
 * @param known kind of the answer; null when it must not replace the stored one.
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

/** Stores the time since which polls have got no answer. A further poll without an answer changes nothing. */
function withSilence(plan: PollPlan, isUnanswered: boolean, now: number): PollPlan {
  const unansweredSince = isUnanswered ? (plan.unansweredSince ?? now) : null;
  return unansweredSince === plan.unansweredSince ? plan : { ...plan, unansweredSince };
}

function isUnclear({ answer }: PollPlan): boolean {
  return answer?.kind === "unclear";
}

/**
 * Tells whether the stored answer stays "success without output" after a new one. It stays for ten minutes,
 * unless the new answer states the status of the job. Otherwise a rate limit would begin the ten minutes anew
 * or, after the deadline, end the task before they are over.
 */
function isNoOutputKept({ answer: last }: PollPlan, { kind }: PollAnswer, now: number): boolean {
  return last?.kind === "no_output" && kind !== "news" && now < finalNoOutputPollAt(last);
}

/**
 * Returns an answer to a poll in the form in which the plan of polls stores it, with its kind and time. Null
 * when the provider did not answer, or when the answer ends the task: the stored answer then stays.
 */
function answerOf(answer: PollAnswer, since: number): UpstreamAnswer | null {
  const name = answer.kind === "news" ? answer.news.status : answer.kind;
  const kind = ANSWER_KINDS.find((each) => each === name);
  if (kind === undefined) return null;
  const { statusCode, word } = answer.kind === "unclear" ? answer : UNWORDED;
  return { kind, since, statusCode, word };
}

/**
 * Returns the time at which a provider that limits the rate allows the next poll, plus a random part, because
 * the provider names the same time to many tasks; 0 when it names none.
 */
function retryAt(answer: PollAnswer, { jitter }: Policy, now: number): number {
  if (answer.kind !== "limited" || answer.retryAfterMs === null) return 0;
  return now + Math.round(answer.retryAfterMs * (1 + RETRY_JITTER * jitter));
}

/**
 * Extends the deadline of a task: the new one is `now` plus a quarter of the time from the task's creation to
 * its previous deadline.
 */
export function extendDeadline(task: OpenTask, now: number): OpenTask {
  const deadlineAt = now + Math.round((task.deadlineAt - task.createdAt) * DEADLINE_EXTENSION);
  const version = nextVersion(task, now);
  return { ...task, version, deadlineAt, tracking: { ...task.tracking, isExtended: true } };
}
