import { type Callback, isCallbackSettled } from "./callback.ts";
import { type ChargingCredits, type Credits, isRefunding } from "./credits.ts";
import type { JsonObject } from "../json.ts";
import type { Notice } from "./notice.ts";
import type { Publication } from "./publication.ts";
import type { Tracking } from "./tracking.ts";
import type { Failure, Upstream } from "./upstream.ts";

/**
 * The state of one task, stored as one value under one key of its object. Times (`…At`) are Unix
 * milliseconds; the wire speaks seconds. Every record that an older release wrote stays readable: `v`
 * changes only together with an upgrade of the older shape.
 */
export type TaskRecord = ChargingTask | CreatedTask;

/** A task that readers can see. */
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
  /** The task fails with `upstream_timeout` after this time. */
  readonly deadlineAt: number;
  readonly tracking: Tracking;
}

/** A task with its final result. */
export interface TerminalTask extends TaskBase {
  readonly status: "completed" | "failed";
  /** The callback body, serialised once and sent byte for byte on every attempt; `GET` is built from it. */
  readonly body: string;
  readonly failure: Failure | null;
  readonly credits: Credits | null;
  readonly callback: Callback | null;
  /** When the result was accepted; null when written by a release that did not record it. */
  readonly finishedAt: number | null;
  /** Notices that the operator has not received yet. */
  readonly notices: readonly Notice[];
  /** End of the retention, which starts again with every change; a settled task is erased then. */
  readonly expiresAt: number;
}

export interface TaskBase {
  readonly v: 1;
  /** Rises with every change that readers can see, also when an erased id is used again. */
  readonly version: number;
  readonly id: string;
  readonly model: string;
  readonly account: Account | null;
  /** Null when the task names no provider; its results then come as events. */
  readonly upstream: Upstream | null;
  readonly createdAt: number;
  readonly publication: Publication;
  /** Origin of the relay as the creator of the task addressed it, e.g. `https://relay.example.com`. */
  readonly origin: string;
  /** Kept to tell a repeated registration from a conflict; null when an event created the task. */
  readonly registration: Registration | null;
}

/** The registration as the operator sent it. */
export interface Registration {
  readonly callbackUrl: string | null;
  /** Name of the connection. */
  readonly provider: string | null;
  /** Parameters that were submitted to the upstream. */
  readonly parameters: JsonObject | null;
  /** Labels of the operator, shown in `GET`. */
  readonly metadata: JsonObject | null;
  readonly deadlineAt: number | null;
  readonly accountId: string | null;
  /** Price of the task; only with an account. */
  readonly credits: number | null;
}

/** The tenant, with the generation of its callback secret, so that signing needs no look-up. */
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

/** Tells whether nothing more is owed: the credits of a failure are back, and no attempt is due. */
export function isSettled({ credits, callback }: TerminalTask): boolean {
  return !isRefunding(credits) && (callback === null || isCallbackSettled(callback));
}

/** Returns the version of the change after `previous`: one more, or the time, whichever is larger. */
export function nextVersion(previous: TaskRecord | null, now: number): number {
  return Math.max((previous?.version ?? 0) + 1, now);
}
