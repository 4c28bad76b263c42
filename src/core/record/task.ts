import { type Callback, isCallbackSettled } from "./callback.ts";
import type { CallbackTerms, StatedTerms } from "./callback-terms.ts";
import type { Cancellation } from "./cancellation.ts";
import {
  type Credits,
  type HiddenCredits,
  isCharging,
  isRefunding,
  isReleasing,
} from "./credits.ts";
import type { Counts } from "./counts.ts";
import type { Finding } from "./finding.ts";
import type { JsonObject } from "../json.ts";
import type { KeyNames } from "./key-names.ts";
import type { LateJob } from "./late-job.ts";
import type { Notice } from "./operator-notice.ts";
import type { Outputs } from "./outputs.ts";
import type { PriceRule } from "./price-rule.ts";
import type { IndexRowState } from "./index-row-state.ts";
import type { Tracking } from "./tracking.ts";
import type { Submission } from "./submission.ts";
import type { Trace } from "./trace.ts";
import type { Failure, Upstream, UpstreamTimes, Usage } from "./upstream.ts";

/**
 * The record of one task, stored as one value under one key of the task's Durable Object. Times (`…At`) are Unix
 * milliseconds; the API uses seconds. Every later release must be able to read a stored record. It may only add
 * members. If it changes the number `v` of the format, it needs code that still reads the previous format.
 */
export type TaskRecord = ChargingTask | CreatedTask;

/** A task that readers can see: either it has no price, or its price has been charged. */
export type CreatedTask = OpenTask | TerminalTask;

/**
 * A task that readers do not see. Either its price is being charged, or the upstream has refused its submission and the
 * price is being returned before the task is erased.
 */
export interface ChargingTask extends TaskBase {
  readonly status: "charging";
  readonly callbackUrl: string | null;
  /** See `Callback.terms`. */
  readonly callbackTerms?: CallbackTerms;
  readonly deadlineAt: number;
  readonly account: null;
  readonly credits: HiddenCredits;
}

/** A task without a result yet. */
export interface OpenTask extends TaskBase {
  readonly status: "pending" | "processing";
  /** Credits that were charged for the task when it was registered; null when the task costs nothing. */
  readonly credits: Credits | null;
  readonly callbackUrl: string | null;
  /** See `Callback.terms`. */
  readonly callbackTerms?: CallbackTerms;
  /** Deadline in Unix milliseconds. A task without a result at this time fails with `upstream_timeout`. */
  readonly deadlineAt: number;
  readonly tracking: Tracking;
  /** Operator notices (messages to the operator) about this task that the operator's receiver has not accepted yet. */
  readonly notices: readonly Notice[];
}

/** A task with its final result. */
export interface TerminalTask extends TaskBase {
  readonly status: "completed" | "failed";
  /**
   * Body of the callback as text. Every attempt sends exactly these bytes. The answer of `GET /v1/tasks/{id}`
   * begins with the members of this body.
   */
  readonly body: string;
  /** The outputs to which the body has links of the relay. Null when there are none. */
  readonly outputs: Outputs | null;
  readonly failure: Failure | null;
  readonly credits: Credits | null;
  readonly callback: Callback | null;
  /** Time at which the relay accepted the result, in Unix milliseconds. */
  readonly finishedAt: number;
  /**
   * Times at which the task's job was attached, was last reported by a hook and was last polled before the task ended.
   * Null when the task had no job.
   */
  readonly upstreamTimes: UpstreamTimes | null;
  /**
   * How the result was found: by a hook, by a poll, or by an event that was sent to `POST /v1/events`. Null when the
   * relay ended the task itself (deadline, cancellation).
   */
  readonly found: Finding | null;
  /**
   * Numbers that the upstream reports about the consumption or cost of the job. Null when the upstream reports
   * none.
   */
  readonly usage: Usage | null;
  /** Operator notices (messages to the operator) about this task that the operator's receiver has not accepted yet. */
  readonly notices: readonly Notice[];
  /** News about the job that came after the task had failed at its deadline. Null when none came. */
  readonly late: LateJob | null;
  /**
   * End of the retention in Unix milliseconds. The task is erased at this time, unless a refund or an attempt of
   * its callback is still to be made. Every change of the callback or the refund starts the retention again.
   */
  readonly expiresAt: number;
}

/**
 * Returns the name under which callers, hook URLs and prices address the connection of a task. For a job in a pool it is
 * the name of the pool, and `upstream` names the member with which the job runs.
 */
export function addressedName(
  { registration }: Pick<TaskBase, "registration">,
  { connection }: Upstream,
): string {
  return registration?.provider ?? connection;
}

export interface TaskBase {
  readonly v: 2;
  /**
   * Version of the task's record: a number that rises with every change that readers can see. It never falls, even when
   * the id of an erased task is used for another task.
   */
  readonly version: number;
  readonly id: string;
  readonly model: string;
  readonly account: Account | null;
  /**
   * Connection and job of the task. Null when the task names no provider, because its results are reported by
   * events.
   */
  readonly upstream: Upstream | null;
  readonly createdAt: number;
  /**
   * Time at which the record was created, by the clock of the task's object. Unlike `createdAt`, it is never taken from
   * a report. Two tasks with the same id always have different values, by which status links tell these tasks apart.
   */
  readonly recordedAt: number;
  readonly indexRow: IndexRowState;
  readonly counts: Counts;
  readonly keyNames: KeyNames;
  /** Origin of the relay as the creator of the task addressed it, e.g. `https://relay.example.com`. */
  readonly origin: string;
  /**
   * Registration of the task, stored to tell whether another registration under the same id repeats it or conflicts
   * with it. Null when the task was not registered but created by an event.
   */
  readonly registration: Registration | null;
  /** The call with which the relay started the job. Null when the relay has not submitted the job. */
  readonly submission: Submission | null;
  /** The latest order to cancel the task. Null when there was none. */
  readonly cancellation: Cancellation | null;
  /** Trace context of the request that has created the task. Absent when it stated none. */
  readonly trace?: Trace;
}

/**
 * Fields of the request `POST /v1/tasks` that registered a task, except its id and model; null for each field that was
 * not sent. They are stored to tell whether another registration under the same id repeats this one or conflicts with
 * it.
 */
export interface Registration extends StatedTerms {
  readonly callbackUrl: string | null;
  /** Name of the connection to the provider; null when the task names none. */
  readonly provider: string | null;
  /** Parameters that were submitted to the upstream; null when the operator sent none. */
  readonly parameters: JsonObject | null;
  /** Labels that the operator has chosen for the task, shown by `GET /v1/tasks/{id}`; null when there are none. */
  readonly metadata: JsonObject | null;
  readonly deadlineAt: number | null;
  readonly accountId: string | null;
  /**
   * Credits that are charged for the task; a task with a charge must have an account. If a rule decides the price at
   * the end, they are the most that the task can cost. Null when the task costs nothing.
   */
  readonly credits: number | null;
  /** Rule for what the completed task costs. Absent when it costs all credits that were charged. */
  readonly priceRule?: PriceRule;
}

/**
 * The account that owns a task. The generation is a number that rises when the account's callback secret is rotated. It
 * is stored in the task, because callbacks can then be signed without a call to the account's object.
 */
export interface Account {
  readonly id: string;
  readonly generation: number;
}

export function isOpen(record: TaskRecord): record is OpenTask {
  return record.status === "pending" || record.status === "processing";
}

export function isTerminal(record: TaskRecord): record is TerminalTask {
  return record.status === "completed" || record.status === "failed";
}

/**
 * Tells whether a hidden task becomes visible when its price is charged. It does not if the price is being returned, or
 * will be because the call of the submission will not be sent.
 */
export function isToBeCharged({ credits, submission }: ChargingTask): boolean {
  return isCharging(credits) && submission?.state.kind !== "unsent";
}

/**
 * Tells whether a task that has ended is settled: no refund or release of credits is open, and no attempt of the
 * callback is running or still to be made.
 */
export function isSettled(task: TerminalTask): boolean {
  return !isReleasing(task.credits) && canRedeliver(task);
}

/** Tells whether another attempt of the callback may be ordered: no refund is open, no attempt running or planned. */
export function canRedeliver({ credits, callback }: TerminalTask): boolean {
  return !isRefunding(credits) && (callback === null || isCallbackSettled(callback));
}

/**
 * Returns the version for the record that replaces `previous`: the previous version plus one, or the time `now` in Unix
 * milliseconds if that is larger.
 */
export function nextVersion(previous: TaskRecord | null, now: number): number {
  return Math.max((previous?.version ?? 0) + 1, now);
}
