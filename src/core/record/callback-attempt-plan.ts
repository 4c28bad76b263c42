import { type Policy, waitBeforeMs } from "../policy.ts";
import { SECOND_MS } from "../time.ts";
import {
  type Attempt,
  type AttemptResult,
  type Callback,
  dueAt,
  type RedeliveryOrder,
} from "./callback.ts";
import { NO_REDELIVERIES, withRedelivery } from "./redelivery-keys.ts";
import { withAttempt } from "./outcome-counts.ts";

/**
 * Wait in milliseconds after the first attempt of a series that a crash has interrupted, counted from the
 * time at which the interruption is found.
 */
const WAIT_AFTER_INTERRUPTION_MS = 5 * SECOND_MS;

/**
 * Returns the callback of a task that has just ended. Its automatic attempts (series 1) do not start before
 * `release` is called: at once or, when credits are to be refunded, after the refund.
 */
export function automaticSeries(url: string): Callback {
  return {
    url,
    attempts: [],
    droppedOutcomes: {},
    lastNumber: 0,
    series: { number: 1, started: 0, ordered: null, keyName: null },
    state: { kind: "held" },
    deliveredAt: null,
    ...NO_REDELIVERIES,
  };
}

/**
 * Starts the automatic attempts of a callback in the state `held`, once no refund has to come first: the
 * first attempt starts now, or after the first wait of the configured schedule. A callback in another state
 * is returned unchanged.
 */
export function release(callback: Callback, policy: Policy, now: number): Callback {
  return callback.state.kind === "held" ? begin(callback, policy, now) : callback;
}

/**
 * Starts a redelivery: another series of attempts for a callback of which no attempt is planned or running.
 * @param previous the callback so far; null when the task never had a URL.
 */
export function redeliverySeries(
  previous: Callback | null,
  url: string,
  order: RedeliveryOrder,
  policy: Policy,
  now: number,
): Callback {
  const callback = withPastUrls(previous ?? automaticSeries(url), url);
  const { attempts: ordered, keyName } = order;
  const series = { number: callback.series.number + 1, started: 0, ordered, keyName };
  return begin({ ...withRedelivery(callback, order), url, series }, policy, now);
}

/**
 * Applies a redelivery to a callback whose next attempt waits while the relay is paused: no further series of
 * attempts starts, and the attempt that waits goes to `url`. Returns the same callback when nothing changes.
 */
export function joinedRedelivery(
  callback: Callback,
  url: string,
  order: RedeliveryOrder,
): Callback {
  const isSame = url === callback.url && order.idempotencyKey === null;
  return isSame ? callback : { ...withRedelivery(withPastUrls(callback, url), order), url };
}

/** Stores with each past attempt the URL to which it went, before the URL of the callback changes to `url`. */
function withPastUrls(callback: Callback, url: string): Callback {
  const { attempts, url: previous } = callback;
  if (url === previous) return callback;
  return {
    ...callback,
    attempts: attempts.map((attempt) => ({ ...attempt, url: attempt.url ?? previous })),
  };
}

/** Marks the attempt that is due as running; returns null when no attempt is due. */
export function openDueAttempt(callback: Callback, policy: Policy, now: number): Callback | null {
  if (callback.state.kind !== "due" || dueAt(callback.state, policy) > now) return null;
  return openAttempt(callback, callback.state.nextAttemptAt, now);
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
  const { outcome, statusCode, responseExcerpt, cloudflareError, cause, answer, sentDigest } =
    result;
  const attempt: Attempt = {
    number,
    series: callback.series.number,
    url: null,
    dueAt: open.dueAt,
    startedAt: open.startedAt,
    durationMs: Math.max(0, now - open.startedAt),
    outcome,
    statusCode,
    responseExcerpt,
    cloudflareError,
    cause,
    answer,
    sentDigest,
    keyName: callback.series.keyName,
  };
  const ended = withAttempt(callback, attempt);
  if (outcome === "delivered") {
    const deliveredAt = callback.deliveredAt ?? now;
    return { ...ended, deliveredAt, state: { kind: "delivered" } };
  }
  return afterFailure(ended, attempt, policy);
}

/**
 * Returns the number of attempts that the present series of a callback (the automatic ones, or those of one
 * redelivery) may have, including those already made.
 */
export function totalAttempts({ series }: Callback, policy: Policy): number {
  return series.ordered ?? policy.scheduleMs.length;
}

function begin(callback: Callback, policy: Policy, now: number): Callback {
  const nextAttemptAt = now + waitBeforeMs(policy, 0, callback.series.ordered !== null);
  const planned: Callback = { ...callback, state: { kind: "due", nextAttemptAt } };
  return openDueAttempt(planned, policy, now) ?? planned;
}

function openAttempt(callback: Callback, plannedAt: number, now: number): Callback {
  const number = callback.lastNumber + 1;
  return {
    ...callback,
    lastNumber: number,
    series: { ...callback.series, started: callback.series.started + 1 },
    state: { kind: "in_flight", number, dueAt: plannedAt, startedAt: now },
  };
}

/**
 * Plans the next attempt of a callback after one has failed, whatever the kind of failure. When no planned
 * attempt is left, the callback has failed.
 * @param callback the callback with the failed attempt as the last of its attempts.
 */
function afterFailure(callback: Callback, ended: Attempt, policy: Policy): Callback {
  const { series } = callback;
  if (series.started >= totalAttempts(callback, policy))
    return { ...callback, state: { kind: "failed" } };
  const endedAt = ended.startedAt + ended.durationMs;
  const nextAttemptAt = endedAt + waitAfterFailureMs(callback, ended, policy);
  return { ...callback, state: { kind: "due", nextAttemptAt } };
}

/**
 * Returns the wait after a failed attempt in milliseconds. The waits of the schedule are for attempts that
 * were not interrupted. The first interrupted attempt of a series is followed soon and uses no wait of the
 * schedule. After a further interrupted attempt the next wait of the schedule is used, so that repeated
 * crashes do not use up the attempts within seconds. All attempts of a series are in the record, because a
 * series is shorter than `MAX_ATTEMPTS_KEPT`.
 */
function waitAfterFailureMs(
  { series, attempts }: Callback,
  ended: Attempt,
  policy: Policy,
): number {
  const firstInterrupted = attempts.find(
    (attempt) => attempt.series === series.number && attempt.outcome === "interrupted",
  );
  if (firstInterrupted === ended) return WAIT_AFTER_INTERRUPTION_MS;
  const index = firstInterrupted === undefined ? series.started : series.started - 1;
  return waitBeforeMs(policy, index, series.ordered !== null);
}
