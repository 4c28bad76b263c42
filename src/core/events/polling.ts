import { changed, type Decision, unchanged } from "./decision.ts";
import type { PollEndedEvent } from "./event.ts";
import { finishAtDeadline, finishFromNews } from "./finish.ts";
import { DEADLINE_EXTENSION, type Policy } from "../policy.ts";
import { isOpen, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { planNextPoll, type PollPlan } from "../record/poll-plan.ts";
import { type Job, sameJob, type UpstreamEnd, type UpstreamNews } from "../record/upstream.ts";

/**
 * Applies the answer to a poll: ends the task, plans the next poll, or, at the deadline, extends the
 * deadline once for an upstream that is still at work.
 */
export function endPoll(
  record: TaskRecord | null,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record)) return unchanged(record);
  const poll = planFor(event.job, record);
  if (poll === null) return unchanged(record);
  const news = event.answer.kind === "news" ? event.answer.news : null;
  const isAtDeadline = record.deadlineAt <= Math.min(now, event.askedAt);
  if (news !== null && isEnd(news, poll.isOutputMissing || isAtDeadline)) {
    return changed(finishFromNews(record, news, policy, now));
  }
  if (isAtDeadline && (record.tracking.isExtended || !deservesExtension(poll, event))) {
    return changed(finishAtDeadline(record, policy, now));
  }
  const plan = planAfter(poll, record, event, policy, now);
  const task = withNextPoll(record, news, plan, now);
  return changed(isAtDeadline ? extendDeadline(task, now) : task);
}

/** Returns the plan of polls when `job` is the job attached to the task; null when it is not. */
function planFor(job: Job, { upstream, tracking }: OpenTask): PollPlan | null {
  return sameJob(upstream?.job ?? null, job) ? tracking.poll : null;
}

/**
 * Tells whether news ends the task. After a success without output the task stays open for one more poll,
 * unless this was the last one.
 */
function isEnd(news: UpstreamNews, isLastPoll: boolean): news is UpstreamEnd {
  switch (news.status) {
    case "completed":
    case "failed":
      return true;
    case "no_output":
      return isLastPoll;
    case "queued":
    case "processing":
      return false;
  }
}

/**
 * Tells whether the deadline is extended: true when the upstream reported the job as queued or processing or
 * limited the rate of polls, or when a hook arrived during this poll.
 */
function deservesExtension(poll: PollPlan, event: PollEndedEvent): boolean {
  const { kind } = event.answer;
  return kind === "news" || kind === "limited" || isOvertaken(poll, event);
}

/** Tells whether a hook arrived during the poll; the answer to the poll may then be older than the hook. */
function isOvertaken(poll: PollPlan, { nudges }: PollEndedEvent): boolean {
  return poll.nudges !== nudges;
}

function planAfter(
  poll: PollPlan,
  task: OpenTask,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): PollPlan {
  const { answer } = event;
  const retryAfterMs = answer.kind === "limited" ? answer.retryAfterMs : null;
  const circumstances = { isOvertaken: isOvertaken(poll, event), retryAfterMs };
  const plan = planNextPoll(poll, task, circumstances, policy, now);
  if (answer.kind !== "news") return plan;
  const isOutputMissing = answer.news.status === "no_output";
  return { ...plan, isOutputMissing, at: isOutputMissing ? plan.notBefore : plan.at };
}

/**
 * Returns the task with the next poll planned. The version rises only when the status changes, because
 * readers do not see the time of the next poll.
 */
function withNextPoll(
  task: OpenTask,
  news: UpstreamNews | null,
  poll: PollPlan,
  now: number,
): OpenTask {
  const next = { ...task, tracking: { ...task.tracking, poll } };
  if (news?.status !== "processing" || task.status === "processing") return next;
  return { ...next, status: "processing", version: nextVersion(task, now) };
}

function extendDeadline(task: OpenTask, now: number): OpenTask {
  const deadlineAt = now + Math.round((task.deadlineAt - task.createdAt) * DEADLINE_EXTENSION);
  const version = nextVersion(task, now);
  return { ...task, version, deadlineAt, tracking: { ...task.tracking, isExtended: true } };
}
