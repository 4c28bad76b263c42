import type { AttemptEndedEvent } from "../events/event.ts";
import type { Outcome } from "./outcome.ts";
import { type Policy, waitBeforeMs } from "../policy.ts";

/** Attempts kept in the record; older ones are forgotten, their numbers are not given again. */
export const MAX_ATTEMPTS_KEPT = 20;

/** Our side of a terminal task: what was sent to the client, and what is due. */
export interface Callback {
  readonly url: string;
  /** Ended attempts, oldest first. */
  readonly attempts: readonly Attempt[];
  readonly lastNumber: number;
  readonly series: Series;
  readonly state: CallbackState;
  /** When an attempt first succeeded; stays through later series. */
  readonly deliveredAt: number | null;
  /** `Idempotency-Key` of the last order to redeliver. */
  readonly lastOrderKey: string | null;
}

/** The attempts of one order to send: 1 is automatic, each redelivery is another. */
export interface Series {
  readonly number: number;
  readonly started: number;
  /** Attempts that the operator ordered; null: the schedule decides. */
  readonly ordered: number | null;
}

export type CallbackState =
  /** Nothing is sent before the credits are back. */
  | { readonly kind: "held" }
  | { readonly kind: "due"; readonly nextAttemptAt: number }
  | { readonly kind: "in_flight"; readonly number: number; readonly startedAt: number }
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" };

export interface Attempt {
  readonly number: number;
  readonly series: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
}

export function isCallbackSettled({ state }: Callback): boolean {
  return state.kind === "delivered" || state.kind === "failed";
}

/** Series 1, ordered by the terminal event itself; it begins when nothing holds it. */
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

/** Lets a held series begin; without a wait its first attempt is open at once. */
export function release(callback: Callback, policy: Policy, now: number): Callback {
  return callback.state.kind === "held" ? begin(callback, policy, now) : callback;
}

export interface RedeliveryOrder {
  readonly attempts: number;
  readonly idempotencyKey: string | null;
}

/** A further series for a settled callback; `previous` is null when the task never had a URL. */
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

/** Opens the next attempt when it is due; null when none is. */
export function startAttempt(callback: Callback, policy: Policy, now: number): Callback | null {
  if (callback.state.kind !== "due" || dueAt(callback.state, policy) > now) return null;
  return opened(callback, now);
}

/** Closes the open attempt and plans what follows; null when that attempt is not open (any more). */
export function endAttempt(
  callback: Callback,
  event: AttemptEndedEvent,
  policy: Policy,
  now: number,
): Callback | null {
  const open = callback.state;
  if (open.kind !== "in_flight" || open.number !== event.number) return null;
  const attempt: Attempt = {
    number: open.number,
    series: callback.series.number,
    startedAt: open.startedAt,
    durationMs: Math.max(0, now - open.startedAt),
    outcome: event.outcome,
    statusCode: event.statusCode,
    responseExcerpt: event.responseExcerpt,
  };
  const attempts = [...callback.attempts, attempt].slice(-MAX_ATTEMPTS_KEPT);
  if (event.outcome === "delivered") {
    const deliveredAt = callback.deliveredAt ?? now;
    return { ...callback, attempts, deliveredAt, state: { kind: "delivered" } };
  }
  return { ...callback, attempts, state: afterFailure(callback.series, attempt, policy) };
}

/** When a due attempt may start: at its time, but not while the relay is paused. */
export function dueAt(state: { readonly nextAttemptAt: number }, policy: Policy): number {
  return Math.max(state.nextAttemptAt, policy.pausedUntil);
}

function begin(callback: Callback, policy: Policy, now: number): Callback {
  const nextAttemptAt = now + waitBeforeMs(policy, 0, callback.series.ordered !== null);
  const planned: Callback = { ...callback, state: { kind: "due", nextAttemptAt } };
  return startAttempt(planned, policy, now) ?? planned;
}

function opened(callback: Callback, now: number): Callback {
  const number = callback.lastNumber + 1;
  return {
    ...callback,
    lastNumber: number,
    series: { ...callback.series, started: callback.series.started + 1 },
    state: { kind: "in_flight", number, startedAt: now },
  };
}

// The wait counts from the end of the attempt, as it is recorded.
function afterFailure(series: Series, ended: Attempt, policy: Policy): CallbackState {
  const total = series.ordered ?? policy.scheduleMs.length;
  if (series.started >= total) return { kind: "failed" };
  const waitMs = waitBeforeMs(policy, series.started, series.ordered !== null);
  return { kind: "due", nextAttemptAt: ended.startedAt + ended.durationMs + waitMs };
}
