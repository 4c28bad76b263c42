import { type Callback, callbackStatus } from "../record/callback.ts";
import { type Credits, releasedOf } from "../record/credits.ts";
import type { TerminalTask } from "../record/task.ts";

/**
 * Summary of a settled task for the log. A task is settled when it has ended, and neither an attempt of its callback
 * nor a refund or release of credits has still to be made. The summary contains no payloads, no URLs and no texts of
 * other services.
 */
export type SettledSummary = Readonly<Record<string, string | number | null>>;

/**
 * Returns the summary of a settled task for the log. Durations are in milliseconds: `open_ms` is the time from the
 * creation to the result, `settling_ms` that from the result to the last change. A member that does not apply is null,
 * e.g. `account` for a task without an account.
 * @param now time of the last change, in Unix milliseconds.
 */
export function settledSummary(task: TerminalTask, now: number): SettledSummary {
  const { credits, finishedAt, keyNames, upstream } = task;
  return {
    task_id: task.id,
    account: task.account?.id ?? null,
    connection: upstream?.connection ?? null,
    status: task.status,
    failure: task.failure?.category ?? null,
    ...callbackSummary(task.callback),
    hooks: task.counts.hooks,
    polls: task.counts.polls,
    ...creditsSummary(credits),
    open_ms: Math.max(0, finishedAt - task.createdAt),
    settling_ms: Math.max(0, now - finishedAt),
    registered_by: keyNames.registeredBy,
    attached_by: keyNames.attachedBy,
    reported_by: keyNames.reportedBy,
  };
}

function creditsSummary(credits: Credits | null): SettledSummary {
  if (credits === null) return { refunded: null, released: null };
  const { kind } = credits.state;
  return {
    refunded: kind === "refunded" ? credits.amount : null,
    released: kind === "released" ? releasedOf(credits) : null,
  };
}

function callbackSummary(callback: Callback | null): SettledSummary {
  if (callback === null) return { callback: null, attempts: 0, series: 0 };
  const { lastNumber: attempts, series } = callback;
  return { callback: callbackStatus(callback), attempts, series: series.number };
}
