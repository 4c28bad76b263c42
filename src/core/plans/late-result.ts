import type { JsonObject } from "../json.ts";
import type { Policy } from "../policy.ts";
import { errorCodeOf } from "../record/callback-body.ts";
import { metadataOf } from "../output-metadata/metadata.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import { isStorable } from "./stored-size.ts";
import { SUBMIT_UNKNOWN_CODE } from "../record/submission.ts";
import { isTerminal, nextVersion, type TaskRecord, type TerminalTask } from "../record/task.ts";
import { NOTHING_LATE } from "../record/late-job.ts";
import { areUrlsInBounds, type UpstreamNews } from "../record/upstream.ts";

/** Value of `error.code` for a task that had no result at its deadline. */
export const TIMEOUT_CODE = "upstream_timeout";
/** Values of `error.code` for tasks that have failed although their job may still succeed. */
const LATE_CODES: readonly string[] = [TIMEOUT_CODE, SUBMIT_UNKNOWN_CODE];

/**
 * Tells whether a task has failed although its job may still succeed: it had no result at its deadline, or it is not
 * known whether its submission has started a job.
 */
export function isTimedOut(record: TaskRecord | null): record is TerminalTask {
  if (record === null || !isTerminal(record) || record.status !== "failed") return false;
  return LATE_CODES.includes(errorCodeOf(record.body));
}

/** Tells whether the relay has learned that the job of a failed task has succeeded after all. */
export function isLateResultKnown({ late }: TerminalTask): boolean {
  return late !== null && late.resultAt !== null;
}

/**
 * Returns the record of a failed task whose job has succeeded after all. The task stays failed, and the operator gets a
 * notice with the output. The output is left out of the notice if it would make the record too large. The version of
 * the record rises only when the upstream reports a consumption or cost, because the operator can then read these in
 * the task.
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
