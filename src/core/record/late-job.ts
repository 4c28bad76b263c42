import type { JsonObject } from "../json.ts";
import type { Policy } from "../policy.ts";
import { errorCodeOf } from "./callback-body.ts";
import { metadataOf } from "./metadata.ts";
import { isNoticeWanted, noticeOf, withNotice } from "./operator-notice.ts";
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

export const NOTHING_LATE: LateJob = { hintAt: null, resultAt: null };
/** Value of `error.code` for a task that has no result at its deadline. */
export const TIMEOUT_CODE = "upstream_timeout";
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
  if (!isNoticeWanted(policy, "task.late_result")) return known;
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
