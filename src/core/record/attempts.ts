import { type Policy, waitBeforeMs } from "../policy.ts";
import {
  type Attempt,
  type AttemptResult,
  type Callback,
  type CallbackState,
  dueAt,
  MAX_ATTEMPTS_KEPT,
  type RedeliveryOrder,
  type Series,
} from "./callback.ts";

/** Returns the callback of a task that has just ended: series 1, held until `release` begins it. */
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

/**
 * Begins the series of attempts of a callback whose series is held; returns any other callback unchanged.
 * Where the schedule has no wait, the first attempt starts at once.
 */
export function release(callback: Callback, policy: Policy, now: number): Callback {
  return callback.state.kind === "held" ? begin(callback, policy, now) : callback;
}

/**
 * Begins another series of attempts for a settled callback.
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

/** Opens the attempt that is due; returns null when no attempt is due. */
export function openDueAttempt(callback: Callback, policy: Policy, now: number): Callback | null {
  if (callback.state.kind !== "due" || dueAt(callback.state, policy) > now) return null;
  return openAttempt(callback, now);
}

/** Closes the open attempt and plans the next one; returns null unless attempt `number` is the open one. */
export function closeAttempt(
  callback: Callback,
  number: number,
  result: AttemptResult,
  policy: Policy,
  now: number,
): Callback | null {
  const open = callback.state;
  if (open.kind !== "in_flight" || open.number !== number) return null;
  const { outcome, statusCode, responseExcerpt, cloudflareError } = result;
  const attempt: Attempt = {
    number,
    series: callback.series.number,
    startedAt: open.startedAt,
    durationMs: Math.max(0, now - open.startedAt),
    outcome,
    statusCode,
    responseExcerpt,
    cloudflareError,
  };
  const attempts = [...callback.attempts, attempt].slice(-MAX_ATTEMPTS_KEPT);
  if (outcome === "delivered") {
    const deliveredAt = callback.deliveredAt ?? now;
    return { ...callback, attempts, deliveredAt, state: { kind: "delivered" } };
  }
  return { ...callback, attempts, state: afterFailure(callback.series, attempt, policy) };
}

function begin(callback: Callback, policy: Policy, now: number): Callback {
  const nextAttemptAt = now + waitBeforeMs(policy, 0, callback.series.ordered !== null);
  const planned: Callback = { ...callback, state: { kind: "due", nextAttemptAt } };
  return openDueAttempt(planned, policy, now) ?? planned;
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

/**
 * Plans the next attempt of the series after a failed one, whatever its outcome; after the last one the
 * callback has failed. The wait counts from the end of the failed attempt.
 */
function afterFailure(series: Series, ended: Attempt, policy: Policy): CallbackState {
  const total = series.ordered ?? policy.scheduleMs.length;
  if (series.started >= total) return { kind: "failed" };
  const waitMs = waitBeforeMs(policy, series.started, series.ordered !== null);
  return { kind: "due", nextAttemptAt: ended.startedAt + ended.durationMs + waitMs };
}
