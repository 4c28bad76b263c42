import { type Callback, isCallbackSettled } from "./callback.ts";
import { type ChargingCredits, type Credits, isRefunding } from "./credits.ts";
import type { JsonObject } from "../json.ts";
import type { Notice } from "./notice.ts";
import type { Publication } from "./publication.ts";
import type { Tracking } from "./tracking.ts";
import type { Upstream } from "./upstream.ts";

/**
 * The truth about one task: one value under one key of its object. Times (`…At`) are Unix
 * milliseconds; the wire speaks seconds. Every record written by an older release stays readable:
 * `v` changes only together with an upgrade of the older shape.
 */
export type TaskRecord = ChargingTask | OpenTask | TerminalTask;

/** Its price is being charged: until that is known, the task does not exist for anyone. */
export interface ChargingTask extends TaskBase {
  readonly status: "charging";
  readonly callbackUrl: string | null;
  readonly deadlineAt: number;
  readonly account: null;
  readonly credits: ChargingCredits;
}

export interface OpenTask extends TaskBase {
  readonly status: "pending" | "processing";
  /** What was taken in advance; null: nothing. */
  readonly credits: Credits | null;
  readonly callbackUrl: string | null;
  /** After this the task fails with `upstream_timeout`. */
  readonly deadlineAt: number;
  readonly tracking: Tracking;
}

export interface TerminalTask extends TaskBase {
  readonly status: "completed" | "failed";
  /** The callback body, serialised once, sent byte for byte on every attempt; `GET` is built from it. */
  readonly body: string;
  readonly failure: Failure | null;
  readonly credits: Credits | null;
  readonly callback: Callback | null;
  /** When the result was accepted; null: by a release that did not write it down. */
  readonly finishedAt: number | null;
  /** What the operator is still to be told. */
  readonly notices: readonly Notice[];
  /** Retention after the last change; a settled task is erased then. */
  readonly expiresAt: number;
}

export interface TaskBase {
  readonly v: 1;
  /** Rises with every change, also over an erasure and re-creation under the same id. */
  readonly version: number;
  readonly id: string;
  readonly model: string;
  readonly account: Account | null;
  /** Null: no provider that the relay knows; results come as events. */
  readonly upstream: Upstream | null;
  readonly createdAt: number;
  readonly publication: Publication;
  /** Origin of the relay as its creator addressed it, e.g. `https://relay.example.com`. */
  readonly origin: string;
  /** What the operator registered, kept to tell a repeat from a conflict; null: created by an event. */
  readonly registration: Registration | null;
}

export interface Registration {
  readonly callbackUrl: string | null;
  /** Name of the connection. */
  readonly provider: string | null;
  /** What was submitted to the upstream. */
  readonly parameters: JsonObject | null;
  /** Labels of the operator, shown in `GET`. */
  readonly metadata: JsonObject | null;
  readonly deadlineAt: number | null;
  readonly accountId: string | null;
  /** What the task costs; only with an account. */
  readonly credits: number | null;
}

/** The tenant, with the generation of its callback secret, so that signing needs no look-up. */
export interface Account {
  readonly id: string;
  readonly generation: number;
}

export interface Failure {
  readonly category: FailureCategory;
  /** Whether the same task may succeed when it is submitted again. */
  readonly retryable: boolean;
}

export type FailureCategory = (typeof FAILURE_CATEGORIES)[number];

export const FAILURE_CATEGORIES = [
  "moderation",
  "invalid_input",
  "rate_limited",
  "timeout",
  "canceled",
  "provider",
] as const;

export function isOpen(record: TaskRecord): record is OpenTask {
  return record.status === "pending" || record.status === "processing";
}

export function isTerminal(record: TaskRecord): record is TerminalTask {
  return record.status === "completed" || record.status === "failed";
}

/** Nothing more is owed: the credits of a failure are back, and no attempt is due. */
export function isSettled({ credits, callback }: TerminalTask): boolean {
  return !isRefunding(credits) && (callback === null || isCallbackSettled(callback));
}

/** Version of the change after `previous`: one more, or the time, whichever is larger. */
export function nextVersion(previous: TaskRecord | null, now: number): number {
  return Math.max((previous?.version ?? 0) + 1, now);
}
