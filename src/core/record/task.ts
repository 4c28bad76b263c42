import { type Callback, isCallbackSettled } from "./callback.ts";
import { type ChargingCredits, type Credits, isRefunding } from "./credits.ts";
import type { Counts } from "./counts.ts";
import type { Finding } from "./finding.ts";
import type { JsonObject } from "../json.ts";
import type { KeyNames } from "./key-names.ts";
import type { LateJob } from "./late-job.ts";
import type { Notice } from "./operator-notice.ts";
import type { IndexRowState } from "./index-row-state.ts";
import type { Tracking } from "./tracking.ts";
import type { Failure, Upstream, UpstreamTimes, Usage } from "./upstream.ts";

/**
 * The record of one task, stored as one value under one key of the task's Durable Object. Times (`…At`) are
 * Unix milliseconds; the API uses seconds. Records that older releases wrote stay readable: the number `v` of
 * the format changes only together with code that upgrades older records.
 */
export type TaskRecord = ChargingTask | CreatedTask;

/** A task that readers can see: it has no price, or the ledger has accepted the charge of the price. */
export type CreatedTask = OpenTask | TerminalTask;

/** A task whose price is being charged. Until the ledger answers, readers do not see the task. */
export interface ChargingTask extends TaskBase {
  readonly status: "charging";
  readonly callbackUrl: string | null;
  readonly deadlineAt: number;
  readonly account: null;
  readonly credits: ChargingCredits;
}

/** A task without a result yet. */
export interface OpenTask extends TaskBase {
  readonly status: "pending" | "processing";
  /** Credits taken in advance; null when the task costs nothing. */
  readonly credits: Credits | null;
  readonly callbackUrl: string | null;
  /** Deadline in Unix milliseconds, after which the task fails with `upstream_timeout`. */
  readonly deadlineAt: number;
  readonly tracking: Tracking;
  /** Notices (messages to the operator) that have not arrived yet. */
  readonly notices: readonly Notice[];
}

/** A task with its final result. */
export interface TerminalTask extends TaskBase {
  readonly status: "completed" | "failed";
  /**
   * Body of the callback as text, sent byte for byte on every attempt; the answer of `GET /v1/tasks/{id}`
   * begins with its members.
   */
  readonly body: string;
  readonly failure: Failure | null;
  readonly credits: Credits | null;
  readonly callback: Callback | null;
  /**
   * Time at which the result was accepted, in Unix milliseconds; null when the task ended under a release
   * that did not store the time.
   */
  readonly finishedAt: number | null;
  /**
   * Times of the task's job before the end; null when the task had no job, or when it ended under a release
   * that did not store them.
   */
  readonly upstreamTimes: UpstreamTimes | null;
  /**
   * Way in which the result was found; null when the relay ended the task itself (deadline, cancellation), or
   * when the task ended under a release that did not store it.
   */
  readonly found: Finding | null;
  /** Numbers that the upstream states of the consumption or cost of the job; null when it states none. */
  readonly usage: Usage | null;
  /** Notices (messages to the operator) that have not arrived yet. */
  readonly notices: readonly Notice[];
  /** News of the job from after the task had failed at its deadline; null while there is none. */
  readonly late: LateJob | null;
  /**
   * End of the retention in Unix milliseconds, at which the task is erased if no attempt of its callback and
   * no refund is left to make. Every change of the callback or the refund starts the retention again.
   */
  readonly expiresAt: number;
}

export interface TaskBase {
  readonly v: 1;
  /**
   * Version of the task's record: a number that rises with every change that readers can see, and goes on
   * rising when the id of an erased task is used again.
   */
  readonly version: number;
  readonly id: string;
  readonly model: string;
  readonly account: Account | null;
  /** Connection and job of the task; null when the task names no provider and its results come as events. */
  readonly upstream: Upstream | null;
  readonly createdAt: number;
  /**
   * Time at which the record was created, by the clock of the task's object, whatever `createdAt` a report has
   * stated. It differs from that of every earlier task under the same id, and tells them apart in status links.
   * Null when a release that did not store it created the record.
   */
  readonly recordedAt: number | null;
  readonly publication: IndexRowState;
  readonly counts: Counts;
  readonly keyNames: KeyNames;
  /** Origin of the relay as the creator of the task addressed it, e.g. `https://relay.example.com`. */
  readonly origin: string;
  /** Registration, kept to tell a repeated one from a conflict; null when an event created the task. */
  readonly registration: Registration | null;
}

/**
 * Fields that `POST /v1/tasks` has sent for a task, besides its id and model; null for each field that was not
 * sent. Kept so that a repeated registration can be told from a conflicting one.
 */
export interface Registration {
  readonly callbackUrl: string | null;
  /** Name of the connection to the provider; null when the task names none. */
  readonly provider: string | null;
  /** Parameters that were submitted to the upstream; null when the operator sent none. */
  readonly parameters: JsonObject | null;
  /** Labels that the operator has chosen, shown in `GET`; null when there are none. */
  readonly metadata: JsonObject | null;
  readonly deadlineAt: number | null;
  readonly accountId: string | null;
  /** Price of the task in credits, only with an account; null when the task costs nothing. */
  readonly credits: number | null;
}

/**
 * The account that owns a task, with the generation of its callback secret: a number that a rotation of the
 * secret raises. It is stored with the task so that callbacks can be signed without asking the account.
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
 * Tells whether a task with a result is settled: the credits of a failure are refunded, and no attempt of the
 * callback is running or still to be made.
 */
export function isSettled({ credits, callback }: TerminalTask): boolean {
  return !isRefunding(credits) && (callback === null || isCallbackSettled(callback));
}

/** Returns the version that follows `previous`: one more, or the time `now`, whichever is larger. */
export function nextVersion(previous: TaskRecord | null, now: number): number {
  return Math.max((previous?.version ?? 0) + 1, now);
}
