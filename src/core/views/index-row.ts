import type { Attempt, Callback } from "../record/callback.ts";
import { completedAtOf } from "../record/callback-body.ts";
import {
  isSettled,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";

/**
 * A task as the index knows it: derived from the record alone, so that it can be written again at any
 * time. Times (`…At`) and durations in milliseconds.
 */
export interface IndexRow {
  readonly id: string;
  readonly version: number;
  readonly account: string | null;
  readonly model: string;
  /** Name of the connection. */
  readonly provider: string | null;
  readonly status: "pending" | "processing" | "completed" | "failed";
  /** Null: there is no `callback_url`. */
  readonly callback: "waiting" | "sending" | "delivered" | "failed" | null;
  readonly attempts: number;
  readonly lastOutcome: string | null;
  readonly lastStatusCode: number | null;
  /** Host of the `callback_url`. */
  readonly host: string | null;
  readonly createdAt: number;
  /** As the callback body says it; only of completed tasks. */
  readonly completedAt: number | null;
  /** When the terminal result was accepted. */
  readonly finishedAt: number | null;
  readonly settledAt: number | null;
  /** From the terminal result to the start of the first attempt. */
  readonly firstAttemptMs: number | null;
  /** From the terminal result to the end of the automatic series. */
  readonly settledMs: number | null;
  /** By this time the task changes by itself; null: it is settled. */
  readonly dueAt: number | null;
  /** When the object and its row are gone; null: not settled. */
  readonly expiresAt: number | null;
}

const MAX_ATTEMPT_MS = 30_000;

/** Null: a task whose price is not charged yet exists for nobody. */
export function rowOf(record: OpenTask | TerminalTask): IndexRow;
export function rowOf(record: TaskRecord): IndexRow | null;
export function rowOf(record: TaskRecord): IndexRow | null {
  if (record.status === "charging") return null;
  const { id, version, model, status, createdAt } = record;
  const provider = record.upstream?.connection ?? null;
  const head = { id, version, account: record.account?.id ?? null, model, provider, status };
  return {
    ...head,
    createdAt,
    ...(isTerminal(record) ? terminalColumns(record) : openColumns(record)),
  };
}

type StatusColumns = Omit<
  IndexRow,
  "id" | "version" | "account" | "model" | "provider" | "status" | "createdAt"
>;

function openColumns(record: Extract<TaskRecord, { readonly tracking: unknown }>): StatusColumns {
  return {
    ...NO_CALLBACK,
    completedAt: null,
    callback: record.callbackUrl === null ? null : "waiting",
    host: hostOf(record.callbackUrl),
    finishedAt: null,
    settledAt: null,
    firstAttemptMs: null,
    settledMs: null,
    dueAt: record.deadlineAt,
    expiresAt: null,
  };
}

function terminalColumns(record: TerminalTask): StatusColumns {
  const { callback, finishedAt, expiresAt } = record;
  const begun = callback === null ? null : firstStart(callback);
  const completedAt = completedAtOf(record.body);
  const timing = { completedAt, finishedAt, firstAttemptMs: since(finishedAt, begun) };
  const told = callback === null ? NO_CALLBACK : callbackColumns(callback);
  if (!isSettled(record)) {
    const unsettled = { settledAt: null, settledMs: null, expiresAt: null };
    return { ...told, ...timing, ...unsettled, dueAt: dueAtOf(record) };
  }
  const last = callback?.attempts.at(-1);
  const settledAt = last === undefined ? finishedAt : endedAt(last);
  const end = callback === null ? finishedAt : endOfAutomatic(callback);
  const settledMs = since(finishedAt, end);
  return { ...told, ...timing, settledAt, settledMs, dueAt: null, expiresAt };
}

const NO_CALLBACK = {
  callback: null,
  attempts: 0,
  lastOutcome: null,
  lastStatusCode: null,
  host: null,
} as const;

function callbackColumns(callback: Callback) {
  const last = callback.attempts.at(-1);
  return {
    callback: callbackStatus(callback),
    attempts: callback.lastNumber,
    lastOutcome: last?.outcome ?? null,
    lastStatusCode: last?.statusCode ?? null,
    host: hostOf(callback.url),
  };
}

function callbackStatus({ state }: Callback): "sending" | "delivered" | "failed" {
  return state.kind === "delivered" || state.kind === "failed" ? state.kind : "sending";
}

function dueAtOf({ credits, callback, finishedAt }: TerminalTask): number | null {
  if (credits?.state.kind === "refunding") return credits.state.retryAt;
  if (callback?.state.kind === "due") return callback.state.nextAttemptAt;
  if (callback?.state.kind === "in_flight") return callback.state.startedAt + MAX_ATTEMPT_MS;
  return finishedAt;
}

/** Of the automatic series; a redelivery is no first attempt. */
function firstStart({ attempts, series, state }: Callback): number | null {
  if (state.kind === "in_flight" && state.number === 1 && series.number === 1) {
    return state.startedAt;
  }
  return attempts.find((one) => one.number === 1 && one.series === 1)?.startedAt ?? null;
}

/** Null: it has not ended, or its attempts are forgotten. */
function endOfAutomatic({ attempts }: Callback): number | null {
  const last = attempts.findLast(({ series }) => series === 1);
  return last === undefined ? null : endedAt(last);
}

function endedAt({ startedAt, durationMs }: Attempt): number {
  return startedAt + durationMs;
}

function since(from: number | null, until: number | null): number | null {
  return from === null || until === null ? null : Math.max(0, until - from);
}

/** As fetch reads the URL, whatever its spelling. */
function hostOf(url: string | null): string | null {
  return url === null ? null : (URL.parse(url)?.hostname ?? null);
}
