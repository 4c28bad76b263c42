import { automaticSeries, release } from "../record/callback.ts";
import { isRefunding, owedAtFailure } from "../record/credits.ts";
import { metadataOf } from "../record/metadata.ts";
import { callbackBody, type UpstreamResult } from "../record/callback-body.ts";
import type { Policy } from "../policy.ts";
import { type Failure, nextVersion, type OpenTask, type TerminalTask } from "../record/task.ts";
import type { UpstreamEnd } from "../record/upstream.ts";

/**
 * The terminal record of an open task: its callback body is written here, once. Series 1 begins at once,
 * or after the refund where a failure has credits to give back.
 */
export function finish(
  task: OpenTask,
  result: UpstreamResult,
  failure: Failure | null,
  policy: Policy,
  now: number,
): TerminalTask {
  const { callbackUrl, deadlineAt: _, tracking: __, ...base } = task;
  const credits = result.status === "failed" ? owedAtFailure(task.credits, now) : task.credits;
  const callback = callbackUrl === null ? null : automaticSeries(callbackUrl);
  return {
    ...base,
    version: nextVersion(task, now),
    status: result.status,
    body: callbackBody(task, result, now),
    failure,
    credits,
    callback: callback && !isRefunding(credits) ? release(callback, policy, now) : callback,
    finishedAt: now,
    notices: [],
    expiresAt: now + policy.retentionMs,
  };
}

/** The end that the upstream tells; what it leaves open of the output is known from the registration. */
export function finishUpstream(
  task: OpenTask,
  news: UpstreamEnd,
  policy: Policy,
  now: number,
): TerminalTask {
  switch (news.status) {
    case "completed": {
      const submitted = metadataOf(task.registration?.parameters ?? null);
      const metadata = { ...submitted, ...news.metadata };
      return finish(task, { ...news, metadata }, null, policy, now);
    }
    case "failed":
      return finish(task, { status: "failed", error: news.error }, news.failure, policy, now);
    case "no_output": {
      const message = "The upstream reported success without output.";
      const failure: Failure = { category: "provider", retryable: true };
      const error = { code: "upstream_error", message };
      return finish(task, { status: "failed", error }, failure, policy, now);
    }
  }
}

/** `error.code` of a task that nobody reported on in time. */
export const TIMEOUT_CODE = "upstream_timeout";

/** The operator gives a task up. */
export function finishCanceled(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = { code: "canceled", message: "The task was canceled." };
  const failure: Failure = { category: "canceled", retryable: false };
  return finish(task, { status: "failed", error }, failure, policy, now);
}

/** An upstream that never reported: promise 6, a task does not stay open for ever. */
export function finishAtDeadline(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = {
    code: TIMEOUT_CODE,
    message: "The upstream did not report a result before the deadline.",
  };
  const failure: Failure = { category: "timeout", retryable: true };
  return finish(task, { status: "failed", error }, failure, policy, now);
}
