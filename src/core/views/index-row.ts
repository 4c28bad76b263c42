import { MAX_CALLBACK_TIMEOUT_MS, type Policy } from "../policy.ts";
import {
  type Attempt,
  type Callback,
  type CallbackStatus,
  callbackStatus,
} from "../record/callback.ts";
import { type Credits, releasedOf } from "../record/credits.ts";
import type { OutcomeCounts } from "../record/outcome.ts";
import { outcomesOf } from "../plans/outcome-counts.ts";
import { completedAtOf } from "../record/callback-body.ts";
import type { FoundBy } from "../record/finding.ts";
import type { FailureCategory } from "../record/upstream.ts";
import { MAX_HOST_LOOK_MS } from "../backoff.ts";
import { rowExpiresAt } from "../plans/index-row-schedule.ts";
import {
  type CreatedTask,
  isSettled,
  isTerminal,
  type OpenTask,
  type TerminalTask,
} from "../record/task.ts";
import type { RefusalClass } from "../record/refusal.ts";
import { refusalOf, type ShownState, shownState, waitEndsAt } from "../record/submission.ts";
import { SECOND_MS } from "../time.ts";
import { hostOf } from "../url.ts";

/**
 * A task as the index stores it. The row is derived from the stored record and the configuration alone, so that it
 * can be written again at any time. Times (`…At`) are Unix milliseconds.
 */
export interface IndexRow {
  readonly id: string;
  readonly version: number;
  readonly account: string | null;
  readonly model: string;
  /** Name of the connection to the provider; null when the task names none. */
  readonly provider: string | null;
  /** The provider's id of the job. Null when no job is attached. */
  readonly job: string | null;
  readonly status: "pending" | "processing" | "completed" | "failed";
  /** Category of the failure. Null when the task has not failed, and when the category is not known. */
  readonly category: FailureCategory | null;
  /** State of the submission. Null when the relay has not submitted the job, and never will. */
  readonly submission: Exclude<ShownState, "unsent"> | null;
  /**
   * Class of the refusal because of which the task has failed. Null when the upstream has not refused its submission.
   */
  readonly refusal: RefusalClass | null;
  /** Number of outputs of the task of which the relay has a copy (copied and not deleted). */
  readonly keptOutputs: number;
  /** Size in bytes of all outputs of the task of which the relay has a copy (copied and not deleted). */
  readonly keptBytes: number;
  /** Number of outputs of the task that the relay could not copy and has given up. */
  readonly lostOutputs: number;
  /** Number of outputs of the task that are still to be copied. */
  readonly copyingOutputs: number;
  /** Status of the callback; null when the task has no `callback_url`. */
  readonly callback: "waiting" | CallbackStatus | null;
  /** Number of attempts of the callback that have started. */
  readonly attempts: number;
  /** Numbers of the callback's attempts that have ended, by their outcome. */
  readonly outcomes: OutcomeCounts;
  readonly lastOutcome: string | null;
  readonly lastStatusCode: number | null;
  /** Host of the `callback_url`; null when the task has none. */
  readonly host: string | null;
  readonly createdAt: number;
  /** Time `completed_at` of the callback body, in Unix milliseconds. Null when the task is not completed. */
  readonly completedAt: number | null;
  /** Time at which the relay accepted the result, in Unix milliseconds. Null while the task is open. */
  readonly finishedAt: number | null;
  /**
   * How the relay learned the result: from a hook, from a poll, or from an event that was sent to `POST /v1/events`.
   * Null when there is no result yet, and when this is not known.
   */
  readonly foundBy: FoundBy | null;
  /**
   * Time from the end of the job, as the upstream states it, to the acceptance of the result by the relay, in
   * milliseconds. Null when one of these times is not known.
   */
  readonly foundLateMs: number | null;
  /**
   * Time from the beginning of the job to the acceptance of its result by the relay, in milliseconds. The job begins
   * when its call is sent or, if the relay has not submitted it, when the task is created; a wait for a place is no part
   * of it. Null while the task is open, and when its call was never sent or has started no job.
   */
  readonly jobMs: number | null;
  /** 1 when the credits of the task were refunded, else 0. */
  readonly refunded: number;
  /**
   * Number of credits charged for the task that are neither earned, released nor refunded yet. Earned are the credits
   * that the completed task costs; released is the rest of its charge.
   */
  readonly creditsHeld: number;
  /** Credits that the completed task costs; 0 for any other task. */
  readonly creditsEarned: number;
  /** Credits that were given back because the completed task costs less than was charged. */
  readonly creditsReleased: number;
  /** Credits that were given back because the task has failed. */
  readonly creditsRefunded: number;
  readonly settledAt: number | null;
  /**
   * Time from the result to the start of the first attempt of the callback, in milliseconds. Null when it is not
   * known.
   */
  readonly firstAttemptMs: number | null;
  /**
   * Time from the result to the end of the last automatic attempt of the callback, in milliseconds. Attempts of
   * redeliveries do not count. 0 for a task without a callback. Null while the task is not settled, and when the time
   * is not known.
   */
  readonly settledMs: number | null;
  /**
   * Time at which the next change of the task is expected at the latest, in Unix milliseconds. For an open task it is
   * the deadline, or the end of its wait for the outcome of its submission; later it is the next try of the refund or
   * release, the next attempt of the callback or the end of the running one. Null when none of these is left.
   */
  readonly dueAt: number | null;
  /**
   * Time at which the row is to be deleted from the index, in Unix milliseconds. Null while the task is not settled,
   * i.e. while it is open, or while an attempt of its callback or a refund has still to be made.
   */
  readonly expiresAt: number | null;
}

/**
 * Longest time for which an attempt of a callback can run, in milliseconds: the largest timeout that operators can
 * configure for receivers, plus a margin of five seconds.
 */
const MAX_ATTEMPT_MS = MAX_CALLBACK_TIMEOUT_MS + 5 * SECOND_MS;

export function rowOf(record: CreatedTask, policy: Policy): IndexRow {
  const { id, version, model, status, createdAt } = record;
  const provider = record.upstream?.connection ?? null;
  const job = record.upstream?.job?.id ?? null;
  const head = { id, version, account: record.account?.id ?? null, model, provider, job, status };
  const category = isTerminal(record) ? (record.failure?.category ?? null) : null;
  const submission = submissionOf(record);
  const columns = isTerminal(record) ? terminalColumns(record, policy) : openColumns(record);
  const refusal = refusalOf(record.submission);
  return { ...head, category, submission, refusal, createdAt, ...columns };
}

type StatusColumns = Omit<
  IndexRow,
  | "id"
  | "version"
  | "account"
  | "model"
  | "provider"
  | "job"
  | "status"
  | "category"
  | "submission"
  | "refusal"
  | "createdAt"
>;

function submissionOf({ submission }: CreatedTask): IndexRow["submission"] {
  const state = submission && shownState(submission);
  return state === "unsent" ? null : state;
}

function openColumns({ callbackUrl, deadlineAt, submission, credits }: OpenTask): StatusColumns {
  return {
    ...NO_CALLBACK,
    ...NO_COPIES,
    completedAt: null,
    callback: callbackUrl === null ? null : "waiting",
    host: callbackUrl === null ? null : hostOf(callbackUrl),
    finishedAt: null,
    foundBy: null,
    foundLateMs: null,
    jobMs: null,
    refunded: 0,
    ...creditColumns(false, credits),
    settledAt: null,
    firstAttemptMs: null,
    settledMs: null,
    dueAt: waitEndsAt(submission) ?? deadlineAt,
    expiresAt: null,
  };
}

function terminalColumns(record: TerminalTask, policy: Policy): StatusColumns {
  const { callback, finishedAt, found } = record;
  const startedAt = callback === null ? null : firstStart(callback);
  const completedAt = completedAtOf(record.body);
  const firstAttemptMs = durationMs(finishedAt, startedAt);
  const { by: foundBy = null, lateMs: foundLateMs = null } = found ?? {};
  const refunded = record.credits?.state.kind === "refunded" ? 1 : 0;
  const returns = { refunded, ...creditColumns(record.status === "completed", record.credits) };
  const ofJob = { foundBy, foundLateMs, jobMs: jobMsOf(record) };
  const timing = { completedAt, finishedAt, ...ofJob, ...returns, firstAttemptMs };
  const ofCallback = callback === null ? NO_CALLBACK : callbackColumns(callback);
  const columns = { ...ofCallback, ...copyColumns(record) };
  if (!isSettled(record)) {
    const unsettled = { settledAt: null, settledMs: null, expiresAt: null };
    return { ...columns, ...timing, ...unsettled, dueAt: dueAtOf(record) };
  }
  const last = callback?.attempts.at(-1);
  const settledAt = last === undefined ? finishedAt : endedAt(last);
  const end = callback === null ? finishedAt : endOfAutomatic(callback);
  const settledMs = durationMs(finishedAt, end);
  const expiresAt = rowExpiresAt(record, policy);
  return { ...columns, ...timing, settledAt, settledMs, dueAt: null, expiresAt };
}

function jobMsOf({ submission, createdAt, finishedAt }: TerminalTask): number | null {
  if (submission === null) return durationMs(createdAt, finishedAt);
  return submission.state.kind === "accepted" ? durationMs(submission.startedAt, finishedAt) : null;
}

/**
 * Returns how many of the charged credits of a task are still held, were earned, were released, and were refunded.
 * @param isCompleted true when the task has completed; the credits that are not given back are then earned.
 */
function creditColumns(isCompleted: boolean, credits: Credits | null) {
  const { amount = 0, state = null } = credits ?? {};
  const back = credits === null ? 0 : releasedOf(credits);
  const creditsEarned = isCompleted ? amount - back : 0;
  const creditsReleased = state?.kind === "released" ? back : 0;
  const creditsRefunded = state?.kind === "refunded" ? amount : 0;
  const creditsHeld = amount - creditsEarned - creditsReleased - creditsRefunded;
  return { creditsHeld, creditsEarned, creditsReleased, creditsRefunded };
}

const NO_CALLBACK = {
  callback: null,
  attempts: 0,
  outcomes: {},
  lastOutcome: null,
  lastStatusCode: null,
  host: null,
} as const;

const NO_COPIES = { keptOutputs: 0, keptBytes: 0, lostOutputs: 0, copyingOutputs: 0 } as const;

function callbackColumns(callback: Callback) {
  const last = callback.attempts.at(-1);
  return {
    callback: callbackStatus(callback),
    attempts: callback.lastNumber,
    outcomes: outcomesOf(callback),
    lastOutcome: last?.outcome ?? null,
    lastStatusCode: last?.statusCode ?? null,
    host: hostOf(callback.url),
  };
}

function copyColumns({ outputs }: TerminalTask) {
  const states = outputs?.list.map(({ state }) => state) ?? [];
  const sizes = states.flatMap((state) => (state.kind === "kept" ? state.bytes : []));
  return {
    keptOutputs: sizes.length,
    keptBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    lostOutputs: states.filter(({ kind }) => kind === "lost").length,
    copyingOutputs: states.filter(({ kind }) => kind === "copying").length,
  };
}

function dueAtOf({ credits, callback, finishedAt }: TerminalTask): number {
  if (credits?.state.kind === "refunding") return credits.state.retryAt;
  if (callback?.state.kind === "due") {
    const { nextAttemptAt, rest } = callback.state;
    return rest === undefined ? nextAttemptAt : rest.until + MAX_HOST_LOOK_MS;
  }
  if (callback?.state.kind === "in_flight") return callback.state.startedAt + MAX_ATTEMPT_MS;
  return credits?.state.kind === "releasing" ? credits.state.retryAt : finishedAt;
}

/**
 * Returns the start of the first automatic attempt of a callback, in Unix milliseconds. Null when it is not known.
 */
function firstStart({ attempts, series, state }: Callback): number | null {
  if (state.kind === "in_flight" && state.number === 1 && series.number === 1) {
    return state.startedAt;
  }
  return attempts.find((one) => one.number === 1 && one.series === 1)?.startedAt ?? null;
}

/** Returns the end of the last automatic attempt of a callback, in Unix milliseconds. Null when it is not known. */
function endOfAutomatic({ attempts }: Callback): number | null {
  const last = attempts.findLast(({ series }) => series === 1);
  return last === undefined ? null : endedAt(last);
}

function endedAt(attempt: Attempt): number {
  return attempt.startedAt + attempt.durationMs;
}

function durationMs(from: number, until: number | null): number | null {
  return until === null ? null : Math.max(0, until - from);
}
