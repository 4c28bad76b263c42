import type { CancelStep } from "../../core/duties/cancel-job.ts";
import type { IndexRowStep } from "../../core/duties/index-row-write.ts";
import type { CopyStep } from "../../core/duties/copy-order.ts";
import type { NoticeStep } from "../../core/duties/operator-notice-send.ts";
import { attemptInFlight } from "../../core/duties/callback-attempt.ts";
import type { LeaveStep } from "../../core/duties/queue-leave.ts";
import type { ReleaseStep } from "../../core/duties/release.ts";
import type { CancelAnswer, ChargeAnswer, PollAnswer, TaskEvent } from "../../core/events/event.ts";
import type { ProgressCallback } from "../../core/events/progress-callback.ts";
import type { AttemptResult } from "../../core/record/callback.ts";
import { causeOf } from "../../core/record/outcome.ts";
import { keyUnreadableSince } from "../../core/record/customer-key.ts";
import { isOpen, isTerminal, type TaskRecord } from "../../core/record/task.ts";
import type { CallStep } from "../../core/step.ts";
import { hostOf } from "../../core/url.ts";
import { settledSummary } from "../../core/views/settled-summary.ts";
import { errorText, type LogLevel, type LogLine } from "../../lib/log.ts";
import type { EndedAttempt, SentAttempt } from "./sender-binding.ts";
import type { Platform } from "./platform.ts";
import { isSettledTask } from "./pending-alarm.ts";

/** A line for the log, and the level at which it is written. */
export interface Logged {
  readonly line: LogLine;
  readonly level: LogLevel;
}

/**
 * The outcome of a call that a task object has made to another service (ledger, provider, index or operator): the
 * event that applies the answer to the task, and a line for the log.
 */
export interface CallOutcome extends Logged {
  readonly event: TaskEvent;
}

/**
 * Makes the call of one step of the work loop: a charge, a refund, a release, a poll, a cancellation, a write to the
 * index, an order to copy outputs or to leave queues, or a notice to the operator. It never throws: a call that fails
 * or gets no answer in time has an outcome too.
 * @param aborted ends the wait early, when the answer is no longer needed.
 * @param now time of the work loop, in Unix milliseconds.
 */
export async function makeCall(
  step: CallStep,
  platform: Platform,
  aborted: AbortSignal,
  now: number,
): Promise<CallOutcome> {
  switch (step.kind) {
    case "charge": {
      const { taskId, chargeId, accountId: account, amount } = step.charge;
      const { answer, fault } = await ended(platform.charge(step.charge), { kind: "unknown" });
      const line = { task_id: taskId, account, amount, outcome: answer.kind, ...fault };
      const event = { type: "charge_ended", chargeId, answer } as const;
      return { event, line: { event: "credits.charge", ...line }, level: levelOfCharge(answer) };
    }
    case "refund": {
      const { taskId, accountId: account, amount } = step.refund;
      const { answer: isRefunded, fault } = await ended(platform.refund(step.refund), false);
      const result = { outcome: outcome(isRefunded, "refunded"), ...fault };
      const line = { task_id: taskId, account, amount, ...result };
      const { submissionId } = step.refund;
      const event = { type: "refund_ended", isRefunded, submissionId } as const;
      return { event, line: { event: "credits.refund", ...line }, level: level(isRefunded) };
    }
    case "poll": {
      const { taskId, connection, job, purpose } = step.poll;
      const answer = await platform.poll(step.poll, aborted);
      const result = { outcome: pollOutcome(answer, aborted), ...unclearFields(answer) };
      const key = step.poll.customerKey === null ? {} : { key: "customer" };
      const line = { task_id: taskId, connection, ...key, purpose, ...result };
      const event = { type: "poll_ended", job, purpose, askedAt: now, answer } as const;
      return {
        event,
        line: { event: "upstream.poll", ...line },
        level: levelOfPoll(answer, aborted),
      };
    }
    case "release":
      return release(step, platform, aborted);
    case "cancelJob":
      return cancelJob(step, platform, aborted);
    case "writeIndexRow":
      return writeIndexRow(step, platform, aborted);
    case "orderCopies":
      return orderCopies(step, platform, aborted);
    case "leaveQueues":
      return leaveQueues(step, platform, aborted);
    case "sendNotice":
      return sendNotice(step, platform, aborted);
  }
}

async function release(
  { release: order }: ReleaseStep,
  platform: Platform,
  aborted: AbortSignal,
): Promise<CallOutcome> {
  const { taskId, accountId: account, amount, final } = order;
  // A redelivery that is ordered meanwhile does not wait for this call, which is repeated.
  const answered = unlessAborted(platform.release(order), aborted);
  const { answer: isReleased, fault } = await ended(answered, false);
  const line = { task_id: taskId, account, amount, final };
  const result = { outcome: outcome(isReleased, "released"), ...fault };
  const event = { type: "release_ended", isReleased } as const;
  const isExpected = isReleased || aborted.aborted;
  return {
    event,
    line: { event: "credits.release", ...line, ...result },
    level: level(isExpected),
  };
}

async function cancelJob(
  { cancel }: CancelStep,
  platform: Platform,
  aborted: AbortSignal,
): Promise<CallOutcome> {
  const { taskId, connection, job } = cancel;
  const answer = await platform.cancelJob(cancel, aborted);
  const result = { outcome: outcomeOfCancel(answer, aborted), status_code: answer.statusCode };
  const line = { event: "upstream.cancel", task_id: taskId, connection, ...result };
  const event = { type: "cancel_ended", job, answer } as const;
  return { event, line, level: levelOfCancel(answer, aborted) };
}

async function orderCopies(
  { order }: CopyStep,
  platform: Platform,
  aborted: AbortSignal,
): Promise<CallOutcome> {
  const answered = unlessAborted(platform.orderCopies(order), aborted);
  const { answer: isTaken, fault } = await ended(answered, false);
  const { taskId, recordedAt, outputs, deleted } = order;
  const about = { task_id: taskId, count: outputs.length, deleted: deleted.length };
  const line = { ...about, outcome: outcome(isTaken, "taken"), ...fault };
  const event = { type: "copies_ordered", recordedAt, isTaken, deleted } as const;
  const isExpected = isTaken || aborted.aborted;
  return { event, line: { event: "outputs.order", ...line }, level: level(isExpected) };
}

async function leaveQueues(
  { leave }: LeaveStep,
  platform: Platform,
  aborted: AbortSignal,
): Promise<CallOutcome> {
  const { taskId, submissionId, connections } = leave;
  const answered = unlessAborted(platform.leaveQueues(leave), aborted);
  const { answer: isLeft, fault } = await ended(answered, false);
  const names = connections.join(",");
  const line = { task_id: taskId, connections: names, outcome: outcome(isLeft, "left"), ...fault };
  const event = { type: "queue_left", submissionId, isLeft } as const;
  const isExpected = isLeft || aborted.aborted;
  return { event, line: { event: "queue.leave", ...line }, level: level(isExpected) };
}

async function sendNotice(
  { notice }: NoticeStep,
  platform: Platform,
  aborted: AbortSignal,
): Promise<CallOutcome> {
  const { taskId, kind, version } = notice;
  const isTaken = await platform.sendNotice(notice, aborted);
  const line = { task_id: taskId, notice: kind, outcome: outcome(isTaken, "delivered") };
  const event = { type: "notice_ended", kind, version, isTaken } as const;
  const noticeLevel = isTaken ? "info" : level(aborted.aborted);
  return { event, line: { event: "operator.notice", ...line }, level: noticeLevel };
}

async function writeIndexRow(
  { row, isRepeat }: IndexRowStep,
  platform: Platform,
  aborted: AbortSignal,
): Promise<CallOutcome> {
  const { id, version } = row;
  const write = unlessAborted(platform.writeIndexRow(row), aborted);
  const { answer: isWritten, fault } = await ended(write, false);
  const line = { task_id: id, version, outcome: outcome(isWritten, "written"), ...fault };
  const event = { type: "index_row_ended", version, isWritten, isRepeat } as const;
  const isExpected = isWritten || aborted.aborted;
  return { event, line: { event: "index.write", ...line }, level: level(isExpected) };
}

/**
 * Waits until a call has ended. It does not throw when the call fails.
 * @param fallback answer to return when the call fails.
 * @returns the answer of the call. If the call failed: the fallback, and the error as a field for the call's log line.
 */
async function ended<T>(call: Promise<T>, fallback: T) {
  try {
    return { answer: await call, fault: {} };
  } catch (error) {
    return { answer: fallback, fault: { error: errorText(error) } };
  }
}

function outcome(isDone: boolean, done: string): string {
  return isDone ? done : "unknown";
}

/**
 * Returns the fields of the log line of a poll for an answer that was not understood: its HTTP status, and the
 * state or code that it names. Returns no fields for any other answer.
 */
function unclearFields(answer: PollAnswer) {
  return answer.kind === "unclear" ? { status_code: answer.statusCode, word: answer.word } : {};
}

function pollOutcome(answer: PollAnswer, { aborted }: AbortSignal): string {
  if (aborted) return "aborted";
  return answer.kind === "news" ? answer.news.status : answer.kind;
}

function outcomeOfCancel({ kind }: CancelAnswer, { aborted }: AbortSignal): string {
  return aborted ? "aborted" : kind;
}

function levelOfCancel({ kind }: CancelAnswer, { aborted }: AbortSignal): LogLevel {
  if (aborted) return "detail";
  return kind === "unclear" || kind === "unanswered" ? "warn" : "info";
}

/**
 * Returns the log line of an attempt to deliver a callback whose result was not stored, because the task had stored
 * another result of this attempt before, or is gone.
 */
export function unrecordedAttemptLine({ attempt, result, endedAt }: EndedAttempt): Logged {
  const durationMs = Math.max(0, endedAt - attempt.startedAt);
  const line = attemptLine(attempt, result, durationMs, false);
  return { line, level: result.outcome === "delivered" ? "info" : "warn" };
}

function attemptLine(
  { taskId, number, url, account, provider }: Omit<SentAttempt, "startedAt">,
  result: Pick<AttemptResult, "outcome" | "statusCode" | "cloudflareError" | "cause" | "answer">,
  durationMs: number,
  isRecorded: boolean,
): LogLine {
  const { statusCode, cloudflareError, answer } = result;
  const retryAfter = answer?.retryAfter ?? null;
  const cause = causeOf(result);
  return {
    event: "callback.attempt",
    task_id: taskId,
    number,
    host: hostOf(url),
    account: account?.id ?? null,
    provider,
    outcome: result.outcome,
    ...(cause !== null && { cause }),
    status_code: statusCode,
    ...(cloudflareError !== null && { cloudflare_error: cloudflareError }),
    ...(retryAfter !== null && { retry_after: retryAfter }),
    duration_ms: durationMs,
    recorded: isRecorded,
  };
}

/** Returns the log line of the attempt to deliver a callback that has ended by this change. Null for any other change. */
function attemptEndLine(before: TaskRecord | null, after: TaskRecord): Logged | null {
  const number = attemptInFlight(before);
  if (number === null || !isTerminal(after) || after.callback === null) return null;
  const attempt = after.callback.attempts.findLast((one) => one.number === number);
  if (attempt === undefined) return null;
  const { id: taskId, account, upstream, callback } = after;
  const provider = upstream?.connection ?? null;
  const attempted = { taskId, number, url: callback.url, account, provider };
  const line = attemptLine(attempted, attempt, attempt.durationMs, true);
  return { line, level: attempt.outcome === "delivered" ? "detail" : "warn" };
}

/** Returns the log line of a progress callback, and its level. */
export function progressLine(
  { taskId, url, account, percent }: ProgressCallback,
  result: AttemptResult,
  durationMs: number,
): Logged {
  const cause = causeOf(result);
  const line = {
    event: "callback.progress",
    task_id: taskId,
    progress: percent,
    host: hostOf(url),
    account: account?.id ?? null,
    outcome: result.outcome,
    ...(cause !== null && { cause }),
    status_code: result.statusCode,
    duration_ms: durationMs,
  };
  return { line, level: result.outcome === "delivered" ? "detail" : "info" };
}

/** Returns the log lines that a change of a task causes. */
export function linesOfChange(
  before: TaskRecord | null,
  record: TaskRecord,
  now: number,
): readonly Logged[] {
  const lines = [
    settledLine(before, record, now),
    unreadableKeyLine(before, record),
    failedJobLine(before, record),
    attemptEndLine(before, record),
  ];
  return lines.filter((line) => line !== null);
}

/**
 * Returns the log line of a task that has become settled by this change. A task is settled when it has ended, and
 * neither an attempt of its callback nor a refund or release of credits has still to be made. Null for any other
 * change.
 */
function settledLine(before: TaskRecord | null, record: TaskRecord, now: number): Logged | null {
  if (!isSettledTask(record) || isSettledTask(before)) return null;
  const isFailed = record.callback?.state.kind === "failed";
  const line = { event: "task.settled", ...settledSummary(record, now) };
  return { line, level: isFailed ? "warn" : "info" };
}

/**
 * Returns the log line of a task whose customer's key cannot be decrypted any more since this change, because the
 * secret with which it was encrypted is no longer in `RELAY_SECRET`. Null for any other change.
 */
function unreadableKeyLine(before: TaskRecord | null, record: TaskRecord): Logged | null {
  const isKnown = before !== null && keyUnreadableSince(before) !== null;
  if (isKnown || keyUnreadableSince(record) === null) return null;
  const connection = record.upstream?.connection ?? null;
  return { line: { event: "key.unreadable", task_id: record.id, connection }, level: "error" };
}

/**
 * Returns the log line of a task whose job has failed, and whose call waits to be submitted to another member of the pool
 * since this change. Null for any other change.
 */
function failedJobLine(before: TaskRecord | null, record: TaskRecord): Logged | null {
  const failed = record.submission?.failedJobs?.at(-1);
  if (failed === undefined || !isOpen(record)) return null;
  if (before?.submission?.failedJobs?.length === record.submission?.failedJobs?.length) return null;
  const { connection, attempt, job, news } = failed;
  const { category } = news.failure;
  const facts = { connection, attempt, job: job.id, code: news.error.code, category };
  return { line: { event: "job.failed", task_id: record.id, ...facts }, level: "info" };
}

function levelOfCharge({ kind }: ChargeAnswer): LogLevel {
  return kind === "insufficient" || kind === "unknown_account" ? "info" : level(kind === "charged");
}

function levelOfPoll(answer: PollAnswer, { aborted }: AbortSignal): LogLevel {
  if (aborted) return "detail";
  switch (answer.kind) {
    case "news":
      return level(answer.news.status !== "no_output");
    case "deferred":
      return "detail";
    case "limited":
      return "info";
    case "unclear":
    case "unauthorized":
    case "unanswered":
      return "warn";
  }
}

/**
 * Returns the log level of a call to another service. It is `detail` when the call ended as expected. It is `warn` when
 * it did not, because the other service has failed; the relay repeats the call later.
 */
function level(isExpected: boolean): LogLevel {
  return isExpected ? "detail" : "warn";
}

/**
 * Waits until a call, e.g. a write to the index, has ended or the wait is aborted. An abort ends only the wait; the call
 * continues.
 */
async function unlessAborted(call: Promise<boolean>, aborted: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stop = () => resolve(false);
  aborted.addEventListener("abort", stop);
  try {
    return await Promise.race([call, promise]);
  } finally {
    aborted.removeEventListener("abort", stop);
  }
}
