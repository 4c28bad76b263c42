import type { Policy } from "../policy.ts";
import { automaticSeries, startAutomatic } from "../plans/callback-attempt-plan.ts";
import { callbackBody } from "../record/callback-body.ts";
import { takes } from "../record/callback-events.ts";
import { CANCELED_CODE, confirmed } from "../record/cancellation.ts";
import { isRefunding, startRefund } from "../record/credits.ts";
import { hasCustomerKey } from "../record/customer-key.ts";
import { findingOf, type FoundBy } from "../record/finding.ts";
import { TIMEOUT_CODE } from "../plans/late-result.ts";
import { metadataOf } from "../output-metadata/metadata.ts";
import { linkOutputs } from "../record/outputs.ts";
import { isStorable } from "../plans/stored-size.ts";
import { errorForCustomer, type RefusedEnd } from "../record/refusal.ts";
import { withPrice } from "./final-price.ts";
import { neverSent, withJobKnown } from "../record/submission.ts";
import { nextVersion, type OpenTask, type TerminalTask } from "../record/task.ts";
import { endOfUnknown, type UnreadReason } from "../record/unread-answer.ts";
import {
  areUrlsInBounds,
  type Failure,
  MAX_STORED_FILES,
  NEEDS_STORE_CODE,
  type Provable,
  type UpstreamEnd,
  type UpstreamResult,
  type UpstreamTimes,
  type Used,
} from "../record/upstream.ts";

/**
 * Returns the record of a task that ends now. The body of its callback is written here and never changes. The automatic
 * attempts of the callback start at once, unless the credits of the task have to be refunded: then they start after the
 * refund. They do not wait until the charged credits above the final price of a completed task are given back. There is
 * no callback when its receiver takes no event of this end.
 */
export function finish(
  task: OpenTask,
  result: UpstreamResult & Used & Provable,
  failure: Failure | null,
  policy: Policy,
  now: number,
): TerminalTask {
  const { callbackUrl: _, callbackTerms: __, deadlineAt: ___, tracking: ____, ...base } = task;
  const credits = result.status === "failed" ? startRefund(task.credits, now) : task.credits;
  const callback = callbackFor(task, result.status);
  const { linked, outputs } = withLinks(task, result, policy, now);
  const ended: TerminalTask = {
    ...base,
    version: nextVersion(task, now),
    status: result.status,
    body: callbackBody(task, linked, now),
    outputs,
    failure,
    credits,
    callback: callback && !isRefunding(credits) ? startAutomatic(callback, policy, now) : callback,
    finishedAt: now,
    upstreamTimes: upstreamTimesOf(task, policy),
    found: null,
    usage: result.usage ?? null,
    notices: task.notices,
    late: null,
    expiresAt: now + policy.retentionMs,
  };
  return result.status === "completed" ? withPrice(ended, result, policy, now) : ended;
}

/**
 * Returns the callback of a task that ends. Null when the task has no receiver, and when its endpoint is not told of
 * such an end.
 */
function callbackFor({ callbackUrl: url, callbackTerms: terms }: OpenTask, status: EndStatus) {
  if (url === null || !takes(terms?.events, status)) return null;
  return automaticSeries({ url, ...(terms !== undefined && { terms }) });
}

type EndStatus = TerminalTask["status"];

/**
 * Returns a result in which links of the relay replace the upstream's links to the outputs, together with the data
 * about these outputs that are stored in the record.
 */
function withLinks(task: OpenTask, result: UpstreamResult & Provable, policy: Policy, now: number) {
  if (result.status !== "completed" || policy.outputs === null) {
    return { linked: result, outputs: null };
  }
  const { urls, outputs } = linkOutputs(task, result, policy.outputs, now);
  return { linked: { ...result, urls }, outputs };
}

/**
 * Returns the times of a task's job (attached, last hook, last poll), which are stored with the result for readers.
 * Null when the task had no job.
 */
function upstreamTimesOf({ tracking }: OpenTask, { askedAt }: Policy): UpstreamTimes | null {
  if (tracking.poll === null) return null;
  const { attachedAt, hint } = tracking.poll;
  return { attachedAt, hookAt: hint?.at ?? null, askedAt: askedAt === 0 ? null : askedAt };
}

/**
 * Returns the record of a task that ends with the result that the upstream has reported. The task fails when this
 * result is too large to be stored, and when the relay no longer keeps outputs although the result needs it, for its
 * files or its answer. The result is not refused, because the upstream would not send a smaller one, and the task would
 * stay open.
 */
export function finishFromNews(
  task: OpenTask,
  news: UpstreamEnd & Provable,
  foundBy: FoundBy,
  policy: Policy,
  now: number,
): TerminalTask {
  const facts = {
    found: findingOf(news, foundBy, now),
    usage: news.usage ?? null,
    submission: withJobKnown(task.submission),
  };
  if (confirmsCancellation(task, news)) return { ...finishConfirmed(task, policy, now), ...facts };
  if (news.status === "completed") {
    const { urls, files = [], storedAnswer } = news;
    if (!areUrlsInBounds(urls) || files.length > MAX_STORED_FILES) {
      return { ...finishTooLarge(task, policy, now), ...facts };
    }
    const isStored = files.length > 0 || storedAnswer !== undefined;
    if (isStored && policy.outputs?.areKept !== true) {
      return { ...finishRefused(task, NEEDS_STORE, policy, now), ...facts };
    }
  }
  const ended = { ...finishAsReported(task, news, policy, now), ...facts };
  return isStorable(ended) ? ended : { ...finishTooLarge(task, policy, now), ...facts };
}

/**
 * Returns the record of a task that ends with the result that the upstream has reported. Output metadata that the
 * result lacks is taken from the parameters that were submitted to the upstream.
 */
function finishAsReported(
  task: OpenTask,
  news: UpstreamEnd & Provable,
  policy: Policy,
  now: number,
): TerminalTask {
  switch (news.status) {
    case "completed": {
      const submitted = metadataOf(task.registration?.parameters ?? null);
      const metadata = { ...submitted, ...news.metadata };
      return finish(task, { ...news, metadata }, null, policy, now);
    }
    case "failed": {
      const error = hasCustomerKey(task) ? errorForCustomer(news.error) : news.error;
      return finish(task, { status: "failed", error }, news.failure, policy, now);
    }
    case "no_output": {
      const message = "The upstream reported success without output.";
      const failure: Failure = { category: "provider", retryable: true };
      const error = { code: "upstream_error", message };
      return finish(task, { status: "failed", error }, failure, policy, now);
    }
  }
}

/** Returns the record of a task that fails because its upstream reported a result too large to be stored. */
function finishTooLarge(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const message = "The upstream reported a result too large to be stored.";
  const failure: Failure = { category: "provider", retryable: false };
  const error = { code: "upstream_error", message };
  return finish(task, { status: "failed", error }, failure, policy, now);
}

/**
 * Tells whether the reported end of a job shows that the upstream has canceled the job because the relay had asked for
 * it.
 */
function confirmsCancellation({ cancellation }: OpenTask, news: UpstreamEnd): boolean {
  return cancellation !== null && news.status === "failed" && news.failure.category === "canceled";
}

/**
 * Returns the record of a task that fails because its job is canceled at the upstream: by an order, or because the task
 * has reached its deadline.
 */
export function finishConfirmed(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const { cancellation } = task;
  const known = { ...task, cancellation: cancellation && confirmed(cancellation) };
  return cancellation?.reason === "deadline"
    ? finishAtDeadline(known, policy, now)
    : finishCanceled(known, policy, now);
}

export function finishCanceled(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = { code: CANCELED_CODE, message: "The task was canceled." };
  const failure: Failure = { category: "canceled", retryable: false };
  return finish(task, { status: "failed", error }, failure, policy, now);
}

/** Returns the record of a task that fails because its upstream reported no result before the deadline. */
export function finishAtDeadline(task: OpenTask, policy: Policy, now: number): TerminalTask {
  const error = {
    code: TIMEOUT_CODE,
    message: "The upstream did not report a result before the deadline.",
  };
  const failure: Failure = { category: "timeout", retryable: true };
  return finish(task, { status: "failed", error }, failure, policy, now);
}

/**
 * Returns the record of a task that fails because its job never became known: neither the upstream's answer to the
 * submission nor a hook has named it, and the time to wait is over or no hook can come any more.
 * @param unread why the answer could not be read; null when there was none, or one that states no outcome.
 */
export function finishUnknownSubmission(
  task: OpenTask,
  unread: UnreadReason | null,
  policy: Policy,
  now: number,
): TerminalTask {
  return finishRefused(task, endOfUnknown(unread), policy, now);
}

/** End of a task whose output was in the upstream's answer, in a relay that does not store outputs any more. */
const NEEDS_STORE: RefusedEnd = {
  error: {
    code: NEEDS_STORE_CODE,
    message: "The relay has no bucket any more in which it could keep the output.",
  },
  failure: { category: "provider", retryable: false },
};

/** End of a task whose call waited for too long to be sent. */
export const QUEUE_TIMEOUT: RefusedEnd = {
  error: {
    code: "queue_timeout",
    message: "The call was not sent to the upstream in time. Nothing was started.",
  },
  failure: { category: "timeout", retryable: true },
};

/** End of a task whose call could not be sent. */
export const NOT_SENT: RefusedEnd = {
  error: {
    code: "upstream_error",
    message: "The call could not be sent to the upstream. Nothing was started.",
  },
  failure: { category: "provider", retryable: true },
};

/**
 * Returns the record of a task that fails because its call was not sent and will never be sent. A task whose job has
 * failed at another member before fails as that job did.
 */
export function finishUnsent(
  task: OpenTask,
  end: RefusedEnd,
  policy: Policy,
  now: number,
): TerminalTask {
  const failed = finishAsLastJob(task, policy, now);
  if (failed !== null) return failed;
  const submission = task.submission && neverSent(task.submission);
  return finishRefused({ ...task, submission }, end, policy, now);
}

/**
 * Returns the record of a task that fails as its last job did, because no further member of the pool has taken the call.
 * Null when no job of the task has failed.
 */
export function finishAsLastJob(task: OpenTask, policy: Policy, now: number): TerminalTask | null {
  const last = task.submission?.failedJobs?.at(-1);
  if (task.submission === null || last === undefined) return null;
  const { connection, job, answeredAt, statusCode, news, foundBy } = last;
  const { failedJobs, further: _, ...known } = task.submission;
  const earlier = failedJobs?.slice(0, -1) ?? [];
  const state = { kind: "accepted", answeredAt, statusCode } as const;
  const submission = { ...known, state, ...(earlier.length > 0 && { failedJobs: earlier }) };
  const restored = { ...task, upstream: { connection, job }, submission };
  return finishFromNews(restored, news, foundBy, policy, now);
}

/**
 * Returns the record of a task that fails because its upstream has refused the submission, and the caller knows of the
 * task: the refusal came when the outcome counted as unknown already, or the caller did not wait for the answer.
 */
export function finishRefused(
  task: OpenTask,
  { error, failure }: RefusedEnd,
  policy: Policy,
  now: number,
): TerminalTask {
  return finish(task, { status: "failed", error }, failure, policy, now);
}
