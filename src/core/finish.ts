import { automaticSeries } from "./callback.ts";
import { callbackBody, type Result } from "./result.ts";
import type { Policy } from "./schedule.ts";
import { type Failure, nextVersion, type OpenTask, type TerminalTask } from "./task.ts";

/** The terminal record of an open task: its callback body is written here, once, and series 1 begins. */
export function finish(
  task: OpenTask,
  result: Result,
  failure: Failure | null,
  policy: Policy,
  now: number,
): TerminalTask {
  const { callbackUrl, deadlineAt: _, ...base } = task;
  return {
    ...base,
    version: nextVersion(task, now),
    status: result.status,
    body: callbackBody(task, result, now),
    failure,
    callback: callbackUrl === null ? null : automaticSeries(callbackUrl, policy, now),
    expiresAt: now + policy.retentionMs,
  };
}

/** An upstream that never reported: promise 6, a task does not stay open for ever. */
export function finishAtDeadline(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = {
    code: "upstream_timeout",
    message: "The upstream did not report a result before the deadline.",
  };
  const failure: Failure = { category: "timeout", retryable: true };
  return finish(task, { status: "failed", error }, failure, policy, now);
}
