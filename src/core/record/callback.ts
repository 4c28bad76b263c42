import { type Policy, waitBeforeMs } from "../policy.ts";
import type { Outcome } from "./outcome.ts";

/** Attempts kept in the record. Older ones are dropped; their numbers are not used again. */
export const MAX_ATTEMPTS_KEPT = 20;

/** The callback of a terminal task: the attempts so far, and the next one. */
export interface Callback {
  readonly url: string;
  /** Ended attempts, oldest first. */
  readonly attempts: readonly Attempt[];
  readonly lastNumber: number;
  readonly series: Series;
  readonly state: CallbackState;
  /** When an attempt first succeeded; kept through later series. */
  readonly deliveredAt: number | null;
  /** `Idempotency-Key` of the last redelivery that had one. */
  readonly lastOrderKey: string | null;
}

/** The attempts of one order to send: series 1 is automatic, each redelivery is another. */
export interface Series {
  readonly number: number;
  /** Attempts started so far. */
  readonly started: number;
  /** Attempts that the redelivery asks for; null when the schedule decides. */
  readonly ordered: number | null;
}

export type CallbackState =
  /** Waits until the credits are back. */
  | { readonly kind: "held" }
  | { readonly kind: "due"; readonly nextAttemptAt: number }
  | { readonly kind: "in_flight"; readonly number: number; readonly startedAt: number }
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" };

/** An ended attempt. */
export interface Attempt {
  readonly number: number;
  readonly series: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
}

/** Result of sending one attempt. */
export interface AttemptResult {
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
  /** `Retry-After` as the receiver sent it; logged, but not obeyed. */
  readonly retryAfter: string | null;
}

/** A redelivery: the order for another series. */
export interface RedeliveryOrder {
  readonly attempts: number;
  readonly idempotencyKey: string | null;
}

export function isCallbackSettled({ state }: Callback): boolean {
  return state.kind === "delivered" || state.kind === "failed";
}

/** Returns the status of a callback as readers see it. */
export function callbackStatus({ state }: Callback): "sending" | "delivered" | "failed" {
  switch (state.kind) {
    case "held":
    case "due":
    case "in_flight":
      return "sending";
    case "delivered":
    case "failed":
      return state.kind;
  }
}

/** Returns the callback of a task that has just ended: series 1, held until `release`. */
export function automaticSeries(url: string): Callback {
  return {
    url,
    attempts: [],
    lastNumber: 0,
    series: { number: 1, started: 0, ordered: null },
    state: { kind: "held" },
    deliveredAt: null,
    lastOrderKey: null,
  };
}

/** Begins a held series. Without a wait, its first attempt starts at once. */
export function release(callback: Callback, policy: Policy, now: number): Callback {
  return callback.state.kind === "held" ? begin(callback, policy, now) : callback;
}

/**
 * Begins another series for a settled callback.
 * @param previous the callback so far; null when the task never had a URL.
 */
export function orderedSeries(
  previous: Callback | null,
  url: string,
  order: RedeliveryOrder,
  policy: Policy,
  now: number,
): Callback {
  const callback = previous ?? automaticSeries(url);
  const series = { number: callback.series.number + 1, started: 0, ordered: order.attempts };
  const lastOrderKey = order.idempotencyKey ?? callback.lastOrderKey;
  return begin({ ...callback, url, series, lastOrderKey }, policy, now);
}

/** Starts the attempt that is due; returns null when none is. */
export function startAttempt(callback: Callback, policy: Policy, now: number): Callback | null {
  if (callback.state.kind !== "due" || dueAt(callback.state, policy) > now) return null;
  return openAttempt(callback, now);
}

/** Ends the open attempt and plans what follows; returns null unless attempt `number` is the open one. */
export function endAttempt(
  callback: Callback,
  number: number,
  result: AttemptResult,
  policy: Policy,
  now: number,
): Callback | null {
  const open = callback.state;
  if (open.kind !== "in_flight" || open.number !== number) return null;
  const { outcome, statusCode, responseExcerpt } = result;
  const attempt: Attempt = {
    number,
    series: callback.series.number,
    startedAt: open.startedAt,
    durationMs: Math.max(0, now - open.startedAt),
    outcome,
    statusCode,
    responseExcerpt,
  };
  const attempts = [...callback.attempts, attempt].slice(-MAX_ATTEMPTS_KEPT);
  if (outcome === "delivered") {
    const deliveredAt = callback.deliveredAt ?? now;
    return { ...callback, attempts, deliveredAt, state: { kind: "delivered" } };
  }
  return { ...callback, attempts, state: afterFailure(callback.series, attempt, policy) };
}

/** Returns when a due attempt may start: at its time, but not while the relay is paused. */
export function dueAt(state: { readonly nextAttemptAt: number }, policy: Policy): number {
  return Math.max(state.nextAttemptAt, policy.pausedUntil);
}

function begin(callback: Callback, policy: Policy, now: number): Callback {
  const nextAttemptAt = now + waitBeforeMs(policy, 0, callback.series.ordered !== null);
  const planned: Callback = { ...callback, state: { kind: "due", nextAttemptAt } };
  return startAttempt(planned, policy, now) ?? planned;
}

function openAttempt(callback: Callback, now: number): Callback {
  const number = callback.lastNumber + 1;
  return {
    ...callback,
    lastNumber: number,
    series: { ...callback.series, started: callback.series.started + 1 },
    state: { kind: "in_flight", number, startedAt: now },
  };
}

/** Plans the next attempt of the series: the wait counts from the end of this one, as it is recorded. */
function afterFailure(series: Series, ended: Attempt, policy: Policy): CallbackState {
  const total = series.ordered ?? policy.scheduleMs.length;
  if (series.started >= total) return { kind: "failed" };
  const waitMs = waitBeforeMs(policy, series.started, series.ordered !== null);
  return { kind: "due", nextAttemptAt: ended.startedAt + ended.durationMs + waitMs };
}
