import { changed, type Decision, unchanged } from "./decision.ts";
import type { PollEndedEvent } from "./event.ts";
import { finishAtDeadline, finishUpstream } from "./finish.ts";
import { laterPoll, type PollPlan } from "../record/tracking.ts";
import type { Policy } from "../policy.ts";
import { isOpen, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { type Job, sameJob, type UpstreamEnd, type UpstreamNews } from "../record/upstream.ts";

/** Part of its time by which an open task's deadline is put off, once. */
const EXTENSION = 1 / 4;

/** The upstream has been asked, with or without an answer. */
export function endPoll(
  record: TaskRecord | null,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record)) return unchanged(record);
  const poll = currentPlan(event.job, record);
  if (poll === null) return unchanged(record);
  const news = event.answer.kind === "news" ? event.answer.news : null;
  const isAtDeadline = record.deadlineAt <= Math.min(now, event.askedAt);
  if (news !== null && isEnd(news, poll.isOutputMissing || isAtDeadline)) {
    return changed(finishUpstream(record, news, policy, now));
  }
  if (isAtDeadline && (record.tracking.isExtended || !deservesLastPoll(poll, event))) {
    return changed(finishAtDeadline(record, policy, now));
  }
  const plan = planAfter(poll, record, event, policy, now);
  const task = withNextPoll(record, news, plan, now);
  return changed(isAtDeadline ? extended(task, now) : task);
}

/** Null: this job is not the attached one (any more). */
function currentPlan(job: Job, { upstream, tracking }: OpenTask): PollPlan | null {
  return sameJob(upstream?.job ?? null, job) ? tracking.poll : null;
}

/** Success without output is asked after once more, unless it is the last time. */
function isEnd(news: UpstreamNews, isLastTime: boolean): news is UpstreamEnd {
  switch (news.status) {
    case "completed":
    case "failed":
      return true;
    case "no_output":
      return isLastTime;
    case "queued":
    case "processing":
      return false;
  }
}

/** It is at work, or was kept from saying: its own limit, or a hook that came during the poll. */
function deservesLastPoll(poll: PollPlan, { answer, plannedAt }: PollEndedEvent): boolean {
  return answer.kind === "news" || answer.kind === "limited" || poll.at !== plannedAt;
}

function planAfter(
  poll: PollPlan,
  task: OpenTask,
  { plannedAt, answer }: PollEndedEvent,
  policy: Policy,
  now: number,
): PollPlan {
  const retryAfterMs = answer.kind === "limited" ? answer.retryAfterMs : null;
  const isNudged = poll.at !== plannedAt;
  const plan = laterPoll(poll, task, { isNudged, retryAfterMs }, policy, now);
  if (answer.kind !== "news") return plan;
  const isOutputMissing = answer.news.status === "no_output";
  return { ...plan, isOutputMissing, at: isOutputMissing ? plan.notBefore : plan.at };
}

/** What only moves the next poll is no change that a reader could see, so the version stays. */
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

function extended(task: OpenTask, now: number): OpenTask {
  const deadlineAt = now + Math.round((task.deadlineAt - task.createdAt) * EXTENSION);
  const version = nextVersion(task, now);
  return { ...task, version, deadlineAt, tracking: { ...task.tracking, isExtended: true } };
}
