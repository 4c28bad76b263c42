import { hostLookWaitMs } from "../backoff.ts";
import { type Policy, waitBeforeMs } from "../policy.ts";
import { SECOND_MS } from "../time.ts";
import { hostOf } from "../url.ts";
import {
  type Attempt,
  type AttemptResult,
  type Callback,
  dueAt,
  type SentTimes,
} from "../record/callback.ts";
import {
  type CallbackTarget,
  isSameReceiver,
  isSameTarget,
  scheduleOf,
} from "../record/callback-terms.ts";
import { pastEndpoint } from "../record/endpoint-copy.ts";
import {
  NO_KEYED_REDELIVERIES,
  type RedeliveryOrder,
  withRedelivery,
} from "../record/redelivery-keys.ts";
import { withAttempt } from "./outcome-counts.ts";

/**
 * Wait in milliseconds after the first interrupted attempt among those of one series (the automatic attempts of a
 * callback, or those of one redelivery). An attempt is interrupted when the relay crashes before the receiver's answer
 * arrives. The wait begins when the relay finds the interruption.
 */
const WAIT_AFTER_INTERRUPTION_MS = 5 * SECOND_MS;

/**
 * Returns the callback of a task that has just ended. Its automatic attempts (series 1) do not start before
 * `startAutomatic` is called, which happens at once or, when credits are to be refunded, after the refund.
 */
export function automaticSeries(target: CallbackTarget): Callback {
  return {
    ...target,
    attempts: [],
    droppedOutcomes: {},
    lastNumber: 0,
    series: { number: 1, started: 0, ordered: null, keyName: null },
    state: { kind: "held" },
    deliveredAt: null,
    keyedRedeliveries: NO_KEYED_REDELIVERIES,
  };
}

/**
 * Returns a callback in the state `held` with its automatic attempts started: the first attempt is due now, or after
 * the first wait of its schedule. The caller makes sure that no refund has to come first. A callback in
 * another state is returned unchanged.
 */
export function startAutomatic(callback: Callback, policy: Policy, now: number): Callback {
  return callback.state.kind === "held" ? begin(callback, policy, now) : callback;
}

/**
 * Returns the callback of a redelivery, for which a new series of attempts begins. The caller makes sure that no
 * attempt of an earlier series is planned or running.
 * @param previous the callback so far; null when the task never had a URL.
 */
export function redeliverySeries(
  previous: Callback | null,
  target: CallbackTarget,
  order: RedeliveryOrder,
  policy: Policy,
  now: number,
): Callback {
  const callback = withTarget(previous ?? automaticSeries(target), target);
  const { attempts: ordered, keyName } = order;
  const series = { number: callback.series.number + 1, started: 0, ordered, keyName };
  return begin({ ...withRedelivery(callback, order), series }, policy, now);
}

/**
 * Returns a callback after a redelivery was ordered while its next attempt waits because the relay or the receiver's
 * host is paused. No further series of attempts starts; the waiting attempt goes to `target` instead, and rests no longer
 * if that is at another host. Returns the same callback when `target` is its receiver already and the order has no
 * `Idempotency-Key` to remember.
 */
export function joinedRedelivery(
  callback: Callback,
  target: CallbackTarget,
  order: RedeliveryOrder,
): Callback {
  if (isSameTarget(target, callback) && order.idempotencyKey === null) return callback;
  const joined = withRedelivery(withTarget(callback, target), order);
  return hostOf(target.url) === hostOf(callback.url) ? joined : withoutRest(joined);
}

function withoutRest(callback: Callback): Callback {
  const { state } = callback;
  if (state.kind !== "due") return callback;
  return { ...callback, state: { kind: "due", nextAttemptAt: state.nextAttemptAt } };
}

/**
 * Returns the callback with another receiver. Past attempts that went to the old receiver are stored with its URL and
 * endpoint; otherwise they would be shown with the new one.
 */
function withTarget(callback: Callback, target: CallbackTarget): Callback {
  const { attempts, url, terms, ...others } = callback;
  const receiver = { url, ...(terms?.endpoint && { endpoint: pastEndpoint(terms.endpoint) }) };
  const past = isSameReceiver(callback, target)
    ? attempts
    : attempts.map((attempt) => (attempt.url === null ? { ...attempt, ...receiver } : attempt));
  return { ...others, ...target, attempts: past };
}

/**
 * Returns the callback with its due attempt marked as running, or as resting if the receiver's host is known to be
 * paused. Null when no attempt is due.
 */
export function openDueAttempt(callback: Callback, policy: Policy, now: number): Callback | null {
  if (callback.state.kind !== "due" || dueAt(callback.state, policy) > now) return null;
  const { nextAttemptAt } = callback.state;
  const until = pauseEnd(callback.url, policy, now);
  if (until === null) return openAttempt(callback, nextAttemptAt, now);
  return resting(callback, nextAttemptAt, until, policy, now);
}

/**
 * Returns the callback whose running attempt rests, because it turned out before it was sent that the receiver's host is
 * paused. It does not count as an attempt. Null when the attempt with the number `number` is not running.
 * @param until end of the pause, in Unix milliseconds.
 */
export function restAttempt(
  callback: Callback,
  number: number,
  until: number,
  policy: Policy,
  now: number,
): Callback | null {
  const { state, series } = callback;
  if (state.kind !== "in_flight" || state.number !== number) return null;
  const unopened = {
    ...callback,
    lastNumber: number - 1,
    series: { ...series, started: series.started - 1 },
  };
  return resting(unopened, state.dueAt, until, policy, now);
}

/** Returns the callback whose attempt, which was planned for `nextAttemptAt`, rests until the next look at the pause. */
function resting(
  callback: Callback,
  nextAttemptAt: number,
  until: number,
  { jitter }: Policy,
  now: number,
): Callback {
  const lookAt = now + hostLookWaitMs(now - nextAttemptAt, jitter);
  return { ...callback, state: { kind: "due", nextAttemptAt, rest: { until, lookAt } } };
}

/**
 * Returns the end of the pause of the host of a URL, in Unix milliseconds. Null when the host is not known to be paused at
 * `now`.
 */
export function pauseEnd(
  url: string,
  { pausedHosts }: Pick<Policy, "pausedHosts">,
  now: number,
): number | null {
  if (pausedHosts.size === 0) return null;
  const until = pausedHosts.get(hostOf(url) ?? "");
  return until !== undefined && until > now ? until : null;
}

/**
 * Returns the callback with the result of the running attempt and, after a failure, with a plan for the next attempt.
 * Null when the attempt with the number `number` is not running.
 * @param sent start and end of the attempt by the clock of its sender. Its duration and the next wait count from that
 * end, and not from the time at which the task's object learns of it. Undefined when the attempt ends now.
 */
export function closeAttempt(
  callback: Callback,
  number: number,
  result: AttemptResult,
  sent: SentTimes | undefined,
  policy: Policy,
  now: number,
): Callback | null {
  const open = callback.state;
  if (open.kind !== "in_flight" || open.number !== number) return null;
  if (sent !== undefined && sent.startedAt !== open.startedAt) return null;
  // The clock of the sender may differ.
  const endedAt = Math.max(open.startedAt, Math.min(sent?.endedAt ?? now, now));
  const { outcome, statusCode, responseExcerpt, cloudflareError, cause, answer, sentDigest } =
    result;
  const attempt: Attempt = {
    number,
    series: callback.series.number,
    url: null,
    dueAt: open.dueAt,
    startedAt: open.startedAt,
    durationMs: endedAt - open.startedAt,
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
    const deliveredAt = callback.deliveredAt ?? endedAt;
    return { ...ended, deliveredAt, state: { kind: "delivered" } };
  }
  return afterFailure(ended, attempt, policy);
}

/**
 * Returns how many attempts the present series of a callback may have, including the attempts already made. The present
 * series consists of the automatic attempts or, after a redelivery, of those of the latest redelivery.
 */
export function totalAttempts(callback: Callback, policy: Policy): number {
  return callback.series.ordered ?? scheduleOf(callback, policy).length;
}

function begin(callback: Callback, policy: Policy, now: number): Callback {
  const nextAttemptAt =
    now + waitBeforeMs(scheduleOf(callback, policy), 0, callback.series.ordered !== null);
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
 * Returns the callback with a plan for the next attempt after an attempt has failed, for whatever reason. When no
 * further attempt is allowed in the series, the callback has failed.
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
 * Returns the wait after a failed attempt, in milliseconds. After the first interrupted attempt of a series the wait is
 * short and no wait of the schedule is used up. After every other attempt, also a further interrupted one, the next
 * wait of the schedule is used, so that repeated crashes do not use up all attempts within seconds. The record has all
 * attempts of the series, because a series is shorter than `MAX_ATTEMPTS_KEPT`.
 */
function waitAfterFailureMs(callback: Callback, ended: Attempt, policy: Policy): number {
  const { series, attempts } = callback;
  const firstInterrupted = attempts.find(
    (attempt) => attempt.series === series.number && attempt.outcome === "interrupted",
  );
  if (firstInterrupted === ended) return WAIT_AFTER_INTERRUPTION_MS;
  const index = firstInterrupted === undefined ? series.started : series.started - 1;
  return waitBeforeMs(scheduleOf(callback, policy), index, series.ordered !== null);
}
