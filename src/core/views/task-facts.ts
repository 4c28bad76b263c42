import { totalAttempts } from "../plans/callback-attempt-plan.ts";
import { type AwaitedNews, unknownWaitOf } from "../record/awaited-news.ts";
import { canCancelJob } from "../record/cancellation.ts";
import type { Attempt, Callback } from "../record/callback.ts";
import { type CallbackTerms, endpointOf } from "../record/callback-terms.ts";
import type { PastEndpoint } from "../record/endpoint-copy.ts";
import type { Outcome } from "../record/outcome.ts";
import type { Policy } from "../policy.ts";
import {
  isQueued,
  isSending,
  type ShownState,
  shownState,
  waitEndsAt,
} from "../record/submission.ts";
import { isOpen, isTerminal, type TaskRecord, type TerminalTask } from "../record/task.ts";
import { traceMember } from "../record/trace.ts";
import type { UpstreamTimes } from "../record/upstream.ts";
import type { Reader } from "./reader.ts";

/**
 * Facts of a task that `GET /v1/tasks/{id}` does not show: times to the millisecond, and the values from which the
 * requests of its callback are computed. Times (`…At`) are Unix milliseconds. A time is null when none is stored.
 */
export interface TaskFacts {
  readonly createdAt: number;
  /** Time at which the task's record was created. */
  readonly recordedAt: number;
  /** Deadline that was stated when the task was registered. Null when none was stated. */
  readonly statedDeadlineAt: number | null;
  readonly finishedAt: number | null;
  readonly refundedAt: number | null;
  /** Time at which it was confirmed that the credits above the final price have been given back. */
  readonly releasedAt: number | null;
  /**
   * Times of the provider's job. Null while the task is open, when it had no job, and for a reader of an account,
   * because accounts do not see the upstream.
   */
  readonly upstreamTimes: UpstreamTimes | null;
  /** Submission of the task. Null when the relay has not submitted its job. */
  readonly submission: SubmissionFacts | null;
  /**
   * Effect of a request of this reader to cancel the task: `ask` when the upstream is asked to cancel the job, `fail`
   * when the task fails at once. Null when this reader cannot cancel the task.
   */
  readonly cancelEffect: "ask" | "fail" | null;
  /** Callback of the task. Null while the task is open, and when it has no `callback_url`. */
  readonly callback: CallbackFacts | null;
}

/** The submission of a task: the call with which the relay starts its job. */
export interface SubmissionFacts {
  readonly state: ShownState;
  /** Time from which the call may have been sent. Null while it waits to be sent, and when it never will be. */
  readonly sentAt: number | null;
  /**
   * Time of the upstream's answer to the submission. Null while there is none, and when the outcome became known in
   * another way, e.g. by a hook.
   */
  readonly answeredAt: number | null;
  readonly statusCode: number | null;
  /**
   * Time until which the task waits for its call to be sent (`queued`), for the upstream's answer (`sending`) or for
   * news of its job (`unknown`), while it is open. Null when it waits for none of these.
   */
  readonly waitsUntil: number | null;
  /**
   * News that may still show whether a submission of unknown outcome has started a job: a hook of the upstream (`hook`)
   * or an answer about a job that is known already (`job`). Null when the task waits for neither.
   */
  readonly waitsFor: AwaitedNews | null;
}

export interface CallbackFacts {
  /** The parts of the request that are the same for all attempts of the callback. */
  readonly message: Pick<TerminalTask, "account" | "status" | "body" | "origin" | "trace"> &
    Pick<CallbackTerms, "endpoint"> & { readonly taskId: string };
  /** Present URL of the callback, to which the next attempt goes if there is one. */
  readonly url: string;
  /** The attempts that are stored, oldest first, and last the attempt that is running, if there is one. */
  readonly attempts: readonly AttemptFacts[];
  /** Time for which the next attempt is planned. Null when none is planned, and while it rests. */
  readonly nextAttemptAt: number | null;
  /** End of the pause of the receiver's host for which the next attempt rests. Null when none rests. */
  readonly pausedUntil: number | null;
  /**
   * The present series of attempts: the automatic ones, or those of one redelivery. `total` is the number of attempts
   * that the series may have, `started` the number of those that have started.
   */
  readonly series: { readonly number: number; readonly total: number; readonly started: number };
}

/** One attempt of the callback: its times, and what is needed to compute its request again. */
export interface AttemptFacts extends Pick<
  Attempt,
  "number" | "series" | "dueAt" | "startedAt" | "sentDigest"
> {
  readonly url: string;
  /** Endpoint at the URL. Absent when the receiver was a URL alone. */
  readonly endpoint?: PastEndpoint;
  /** Duration of the attempt in milliseconds. Null while the attempt is running; its `outcome` is then null too. */
  readonly durationMs: number | null;
  readonly outcome: Outcome | null;
}

export function taskFacts(record: TaskRecord, reader: Reader, policy: Policy): TaskFacts {
  const { createdAt, recordedAt, credits } = record;
  const refundedAt = credits?.state.kind === "refunded" ? credits.state.at : null;
  const releasedAt = credits?.state.kind === "released" ? credits.state.at : null;
  const statedDeadlineAt = record.registration?.deadlineAt ?? null;
  const submission = submissionFacts(record);
  const cancelEffect = cancelEffectOf(record, reader, policy);
  const times = { createdAt, recordedAt, statedDeadlineAt, refundedAt, releasedAt };
  const known = { ...times, submission, cancelEffect };
  if (!isTerminal(record)) {
    return { ...known, finishedAt: null, upstreamTimes: null, callback: null };
  }
  const { finishedAt, callback } = record;
  return {
    ...known,
    finishedAt,
    upstreamTimes: reader === "operator" ? record.upstreamTimes : null,
    callback: callback && callbackFacts(record, callback, policy),
  };
}

function cancelEffectOf(record: TaskRecord, reader: Reader, policy: Policy): "ask" | "fail" | null {
  if (!isOpen(record) || isSending(record.submission)) return null;
  const isOwn = reader === "operator" || record.submission?.isByOwner === true;
  if (isQueued(record.submission)) return isOwn ? "fail" : null;
  if (canCancelJob(record, policy)) return isOwn ? "ask" : null;
  return reader === "operator" ? "fail" : null;
}

function submissionFacts(record: TaskRecord): SubmissionFacts | null {
  const { submission } = record;
  if (submission === null) return null;
  const { state, startedAt } = submission;
  const { answeredAt = null, statusCode = null } = "answeredAt" in state ? state : {};
  const waitsUntil = isTerminal(record) ? null : waitEndsAt(submission);
  const waitsFor = unknownWaitOf(record)?.news ?? null;
  const sentAt = state.kind === "queued" || state.kind === "unsent" ? null : startedAt;
  return {
    state: shownState(submission),
    sentAt,
    answeredAt,
    statusCode,
    waitsUntil,
    waitsFor,
  };
}

function callbackFacts(
  { id: taskId, account, status, body, origin, trace }: TerminalTask,
  callback: Callback,
  policy: Policy,
): CallbackFacts {
  const { url, terms, state, series } = callback;
  const rest = (state.kind === "due" ? state.rest : undefined) ?? null;
  const parts = { ...endpointOf(terms), ...traceMember(trace) };
  return {
    message: { taskId, account, status, body, origin, ...parts },
    url,
    attempts: [
      ...callback.attempts.map((attempt) => factsOf(attempt, callback)),
      ...running(callback),
    ],
    nextAttemptAt: state.kind === "due" && rest === null ? state.nextAttemptAt : null,
    pausedUntil: rest?.until ?? null,
    series: {
      number: series.number,
      total: totalAttempts(callback, policy),
      started: series.started,
    },
  };
}

function factsOf(attempt: Attempt, present: Callback): AttemptFacts {
  const { number, series, dueAt, startedAt, durationMs, outcome, sentDigest, url } = attempt;
  const receiver =
    url === null
      ? { url: present.url, ...endpointOf(present.terms) }
      : { url, ...(attempt.endpoint && { endpoint: attempt.endpoint }) };
  return { number, series, dueAt, startedAt, durationMs, outcome, sentDigest, ...receiver };
}

function running({
  state,
  series: { number: series },
  url,
  terms,
}: Callback): readonly AttemptFacts[] {
  if (state.kind !== "in_flight") return [];
  const { number, dueAt, startedAt } = state;
  const open = { durationMs: null, outcome: null, sentDigest: null };
  return [{ number, series, dueAt, startedAt, url, ...endpointOf(terms), ...open }];
}
