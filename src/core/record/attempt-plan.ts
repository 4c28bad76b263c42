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

/**
 * Returns the callback of a task that has just ended, with its automatic attempts (series 1) on hold until
 * `release` starts them.
 */
export function automaticSeries(url: string): Callback {
  return {
    url,
    attempts: [],
    lastNumber: 0,
    series: { number: 1, started: 0, ordered: null, keyName: null },
    state: { kind: "held" },
    deliveredAt: null,
    lastOrderKey: null,
    lastOwnerOrderKey: null,
  };
}

/**
 * Starts the attempts of a callback that were on hold: the first one now, or after the first wait of the
 * configured schedule. A callback that is not on hold is returned unchanged.
 */
export function release(callback: Callback, policy: Policy, now: number): Callback {
  return callback.state.kind === "held" ? begin(callback, policy, now) : callback;
}

/**
 * Starts a redelivery: another series of attempts for a callback of which no attempt is planned or running.
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
  const { attempts: ordered, keyName } = order;
  const series = { number: callback.series.number + 1, started: 0, ordered, keyName };
  return begin({ ...callback, url, series, ...lastKeys(callback, order) }, policy, now);
}

/**
 * Returns the latest `Idempotency-Key` of the operator's redeliveries and of the owner's, after an order by
 * one of them: the order's key, if it has one, replaces the previous key of that caller.
 */
function lastKeys(
  { lastOrderKey, lastOwnerOrderKey }: Callback,
  { orderedBy, idempotencyKey }: RedeliveryOrder,
): Pick<Callback, "lastOrderKey" | "lastOwnerOrderKey"> {
  return orderedBy === "operator"
    ? { lastOrderKey: idempotencyKey ?? lastOrderKey, lastOwnerOrderKey }
    : { lastOrderKey, lastOwnerOrderKey: idempotencyKey ?? lastOwnerOrderKey };
}

/** Marks the attempt that is due as running; returns null when no attempt is due. */
export function openDueAttempt(callback: Callback, policy: Policy, now: number): Callback | null {
  if (callback.state.kind !== "due" || dueAt(callback.state, policy) > now) return null;
  return openAttempt(callback, now);
}

/**
 * Records the result of the running attempt and, after a failure, plans the next one; returns null unless
 * attempt `number` is the running one.
 */
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
    keyName: callback.series.keyName,
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
 * Plans the next attempt of a callback after one has failed, whatever the kind of failure: it starts when the
 * configured wait has passed since the end of the failed attempt. When no planned attempt is left, the
 * callback has failed.
 */
function afterFailure(series: Series, ended: Attempt, policy: Policy): CallbackState {
  const total = series.ordered ?? policy.scheduleMs.length;
  if (series.started >= total) return { kind: "failed" };
  const waitMs = waitBeforeMs(policy, series.started, series.ordered !== null);
  return { kind: "due", nextAttemptAt: ended.startedAt + ended.durationMs + waitMs };
}
