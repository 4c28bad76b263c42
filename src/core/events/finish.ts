import type { Policy } from "../policy.ts";
import { automaticSeries, release } from "../record/callback-attempt-plan.ts";
import { callbackBody } from "../record/callback-body.ts";
import { isRefunding, startRefund } from "../record/credits.ts";
import { findingOf, type FoundBy } from "../record/finding.ts";
import { TIMEOUT_CODE } from "../record/late-job.ts";
import { metadataOf } from "../record/metadata.ts";
import { isStorable } from "../record/stored-size.ts";
import { nextVersion, type OpenTask, type TerminalTask } from "../record/task.ts";
import {
  areUrlsInBounds,
  type Failure,
  type UpstreamEnd,
  type UpstreamResult,
  type UpstreamTimes,
} from "../record/upstream.ts";

/**
 * Ends an open task, writes the body of its callback once and for all, and starts the automatic attempts of
 * the callback. When a failed task has credits to give back, the attempts start after the refund.
 */
export function finish(
  task: OpenTask,
  result: UpstreamResult,
  failure: Failure | null,
  policy: Policy,
  now: number,
): TerminalTask {
  const { callbackUrl, deadlineAt: _, tracking: __, ...base } = task;
  const credits = result.status === "failed" ? startRefund(task.credits, now) : task.credits;
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
    upstreamTimes: upstreamTimesOf(task, policy),
    found: null,
    usage: null,
    notices: task.notices,
    late: null,
    expiresAt: now + policy.retentionMs,
  };
}

/**
 * Returns the times of a task's job that are stored with the result, for readers; null when the task had no
 * job.
 */
function upstreamTimesOf({ tracking }: OpenTask, { askedAt }: Policy): UpstreamTimes | null {
  if (tracking.poll === null) return null;
  const { attachedAt, hint } = tracking.poll;
  return { attachedAt, hookAt: hint?.at ?? null, askedAt: askedAt === 0 ? null : askedAt };
}

/**
 * Ends a task with the result that the upstream has reported. When the result is too large to be stored, the
 * task fails instead. Refusing the result would leave the task open, because the sender of a hook or of the
 * answer to a poll would not send a smaller one.
 */
export function finishFromNews(
  task: OpenTask,
  news: UpstreamEnd,
  foundBy: FoundBy,
  policy: Policy,
  now: number,
): TerminalTask {
  const facts = { found: findingOf(news, foundBy, now), usage: news.usage ?? null };
  if (news.status === "completed" && !areUrlsInBounds(news.urls)) {
    return { ...finishTooLarge(task, policy, now), ...facts };
  }
  const ended = { ...finishAsReported(task, news, policy, now), ...facts };
  return isStorable(ended) ? ended : { ...finishTooLarge(task, policy, now), ...facts };
}

/**
 * Ends a task with the result that the upstream has reported. The parameters that were submitted to the
 * upstream fill in output metadata that the result lacks.
 */
function finishAsReported(
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

/** Fails a task whose upstream reported a result that cannot be stored. */
function finishTooLarge(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const message = "The upstream reported a result too large to be stored.";
  const failure: Failure = { category: "provider", retryable: false };
  const error = { code: "upstream_error", message };
  return finish(task, { status: "failed", error }, failure, policy, now);
}

export function finishCanceled(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = { code: "canceled", message: "The task was canceled." };
  const failure: Failure = { category: "canceled", retryable: false };
  return finish(task, { status: "failed", error }, failure, policy, now);
}

/** Fails a task whose upstream reported no result before the deadline. */
export function finishAtDeadline(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = {
    code: TIMEOUT_CODE,
    message: "The upstream did not report a result before the deadline.",
  };
  const failure: Failure = { category: "timeout", retryable: true };
  return finish(task, { status: "failed", error }, failure, policy, now);
}
