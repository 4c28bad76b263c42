import { errorCodeOf } from "./callback-body.ts";
import { SUBMIT_UNKNOWN_CODE, unknownOutcomeOf } from "./submission.ts";
import { isOpen, isTerminal, type OpenTask, type TaskRecord } from "./task.ts";
import { keptJobIds } from "./tracking.ts";

/**
 * The thing that may still show whether a submission of unknown outcome has started a job: a hook of the upstream, or
 * an answer about a job that is known already.
 */
export type AwaitedNews = (typeof AWAITED_NEWS)[number];

export const AWAITED_NEWS = ["hook", "job"] as const;

/**
 * Returns what may still show whether the submission of a task has started a job. Null when nothing can show it, so
 * that waiting would be in vain: no hook can come, and neither the registration nor a hook has named a job. If the
 * caller has chosen the id of the job in the call itself, this does not count as a known job, because an answer about
 * this id would not prove that the job is that of the task.
 */
export function awaitedNews({
  submission,
  tracking,
  upstream,
}: Pick<OpenTask, "submission" | "tracking" | "upstream">): AwaitedNews | null {
  if (submission?.isHookless !== true) return "hook";
  const isJobKnown = (upstream?.job ?? null) !== null || keptJobIds(tracking).length > 0;
  return isJobKnown ? "job" : null;
}

/**
 * Returns what an open task whose submission has an unknown outcome waits for, and the time in Unix milliseconds at
 * which the task fails if that does not come. Null for any other task.
 */
export function unknownWaitOf(
  record: TaskRecord,
): { readonly news: AwaitedNews; readonly until: number } | null {
  if (!isOpen(record)) return null;
  const unknown = unknownOutcomeOf(record.submission);
  const news = unknown && awaitedNews(record);
  return unknown && news && { news, until: unknown.failsAt };
}

/** Tells whether a task has failed because it stayed unknown whether its submission has started a job. */
export function hasUnknownEnd(record: TaskRecord): boolean {
  if (!isTerminal(record) || record.status !== "failed") return false;
  return errorCodeOf(record.body) === SUBMIT_UNKNOWN_CODE;
}
