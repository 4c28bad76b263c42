import type { JsonObject } from "../json.ts";
import type { Policy } from "../policy.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../time.ts";
import { errorCodeOf } from "./callback-body.ts";
import { metadataOf } from "./metadata.ts";
import { isNotified, noticeOf, withNotice } from "./notice.ts";
import { canPoll } from "./poll-plan.ts";
import { isStorable } from "./stored-size.ts";
import { isTerminal, nextVersion, type TaskRecord, type TerminalTask } from "./task.ts";
import { areUrlsInBounds, type UpstreamNews } from "./upstream.ts";

/** News of the job of a task from after the task had failed at its deadline. Times are Unix milliseconds. */
export interface LateJob {
  /** Time of the last unverified hook that claimed success and caused a poll; null when there was none. */
  readonly hintAt: number | null;
  /** Time at which the success of the job became known; null while it is not. */
  readonly resultAt: number | null;
}

const NOTHING_LATE: LateJob = { hintAt: null, resultAt: null };
/** Value of `error.code` for a task that has no result at its deadline. */
export const TIMEOUT_CODE = "upstream_timeout";
/** Times from the end of a task that has failed at its deadline to the polls of its job, in milliseconds. */
const POLL_WAITS_MS = [HOUR_MS, DAY_MS];
/**
 * Times from an unverified hook that claims the success of a failed task to the polls that this hook causes,
 * in milliseconds.
 */
const HINT_WAITS_MS = [0, 2 * MINUTE_MS];
/** Shortest time between two unverified hooks about one failed task that cause polls, in milliseconds. */
const HINT_PAUSE_MS = HOUR_MS;

/** Tells whether a task has failed because there was no result at its deadline. */
export function isTimedOut(record: TaskRecord | null): record is TerminalTask {
  if (record === null || !isTerminal(record) || record.status !== "failed") return false;
  return errorCodeOf(record.body) === TIMEOUT_CODE;
}

/** Tells whether the success of the job of a task became known after the task had failed. */
export function isLateResultKnown({ late }: TerminalTask): boolean {
  return late !== null && late.resultAt !== null;
}

/**
 * Returns the time of the next poll, after `policy.polledAt`, of the job of a task that has failed at its
 * deadline. The job is polled an hour and a day after the failure, and after an unverified hook that claims
 * success. Null when no poll is planned any more.
 */
export function latePollAt(task: TerminalTask, policy: Policy): number | null {
  const { finishedAt, upstream, failure } = task;
  const { hintAt, resultAt } = task.late ?? NOTHING_LATE;
  if (upstream?.job == null || finishedAt === null || resultAt !== null) return null;
  if (failure?.category !== "timeout" || !isTimedOut(task)) return null;
  const times = [
    ...POLL_WAITS_MS.map((waitMs) => finishedAt + waitMs),
    ...(hintAt === null ? [] : HINT_WAITS_MS.map((waitMs) => hintAt + waitMs)),
  ];
  const plannedAt = Math.min(...times.filter((time) => time > policy.polledAt));
  const isInTime = plannedAt < task.expiresAt && canPoll(task, policy, plannedAt);
  return isInTime ? plannedAt : null;
}

/**
 * Applies an unverified hook that claims the success of the job: the job is polled now and two minutes later.
 * Returns the same record within an hour of the last such hook, so that a sender who knows the hook URL can
 * cause only a few polls.
 */
export function withLateHint(task: TerminalTask, { polledAt }: Policy, now: number): TerminalTask {
  const { hintAt, resultAt } = task.late ?? NOTHING_LATE;
  if (hintAt !== null && now < hintAt + HINT_PAUSE_MS) return task;
  return { ...task, late: { hintAt: Math.max(now, polledAt + 1), resultAt } };
}

/**
 * Stores that the job of a failed task has succeeded: the task stays failed, and the operator gets a notice
 * with the output. A notice with which the record would be too large has no output. The version rises when the
 * upstream states what the job has consumed, because the operator can read that in the task.
 */
export function withLateResult(
  task: TerminalTask,
  { urls, metadata, usage }: Extract<UpstreamNews, { readonly status: "completed" }>,
  policy: Policy,
  now: number,
): TerminalTask {
  const known = {
    ...task,
    late: { ...(task.late ?? NOTHING_LATE), resultAt: now },
    ...(usage !== undefined && { usage, version: nextVersion(task, now) }),
  };
  if (!isNotified(policy, "task.late_result")) return known;
  const submitted = metadataOf(task.registration?.parameters ?? null);
  const output = { urls: [...urls], metadata: { ...submitted, ...metadata } };
  const told = withLateNotice(known, { output }, now);
  return areUrlsInBounds(urls) && isStorable(told)
    ? told
    : withLateNotice(known, { output: null }, now);
}

function withLateNotice(task: TerminalTask, details: JsonObject, now: number): TerminalTask {
  const notice = noticeOf("task.late_result", Math.max(task.version, now), now, details);
  return { ...task, notices: withNotice(task.notices, notice) };
}
