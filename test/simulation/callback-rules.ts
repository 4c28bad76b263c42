import type { Attempt, Callback, CallbackState } from "../../src/core/record/callback.ts";
import { NO_KEYED_REDELIVERIES } from "../../src/core/record/redelivery-keys.ts";
import { isTerminal, type TerminalTask } from "../../src/core/record/task.ts";
import { MINUTE, SECOND } from "../core/builders.ts";
import { type Change, isEqual, firstViolation } from "./change.ts";

const AFTER_FIRST_INTERRUPTION_MS = 5 * SECOND;
/** Time in milliseconds after which an attempt whose end nobody has reported counts as interrupted. */
export const SENDING_MS = 15 * SECOND;

type InFlight = Extract<CallbackState, { readonly kind: "in_flight" }>;

/** Checks promise 2 for one commit: which attempt may follow which, and exactly when. */
export function callbackFault(
  change: Change,
  before: Callback | null,
  task: TerminalTask,
): string | null {
  const after = task.callback;
  if (after === null) return before === null ? null : "a callback stays";
  const from = before ?? unsent(after.url);
  if (from === after || (isAlike(from, after) && isEqual(from, after))) return null;
  const isOrdered = after.series.number > from.series.number;
  const changed = stayFault(change, from, after, isOrdered || isJoined(change, from, after));
  if (changed !== null) return changed;
  const rested = restFault(change, from, after);
  if (rested !== null || isUnopened(from, after)) return rested;
  if (from.state.kind === "in_flight") return endFault(change, from, from.state, after);
  const opened = after.state.kind === "in_flight" ? openFault(change, from, after.state) : null;
  return (
    opened ??
    firstViolation({
      "only what was settled is sent again": !isOrdered || before === null || isOver(from),
      "only a new order starts a settled callback again": isOrdered || !isOver(from),
      "a series starts with nothing sent": !isOrdered || after.series.started <= 1,
      "attempts are counted": after.series.started === startedAfter(from, after, isOrdered),
      "attempts that ended stay, with their receivers": isEqual(endedIn(from), endedIn(after)),
      "the first wait is the schedule's": isWaitRight(change, from, after, isOrdered),
    })
  );
}

/** Tells whether the next attempt waits because the relay or the receiver's host is paused. */
function isHeldBack({ setting }: Change, { state }: Callback): boolean {
  return state.kind === "due" && (setting.isPaused || state.rest !== undefined);
}

/**
 * Tells whether an order may have joined the waiting attempt of a callback: this attempt waits as before, or rests no
 * longer because the order has sent it to another host.
 */
function isJoined(change: Change, from: Callback, after: Callback): boolean {
  if (!isHeldBack(change, from) || from.state.kind !== "due") return false;
  const { rest: _, ...unrested } = from.state;
  return isEqual(hostIn(after.url) === hostIn(from.url) ? from.state : unrested, after.state);
}

/** Returns the time of a planned attempt or, while it rests, that of the next look whether its host is still paused. */
export function startTime({
  nextAttemptAt,
  rest,
}: Omit<Extract<CallbackState, { readonly kind: "due" }>, "kind">): number {
  return Math.max(nextAttemptAt, rest?.lookAt ?? 0);
}

/** Tells whether an attempt that was started rests without having been sent. */
export function isUnopened(from: Callback | null, after: Callback): boolean {
  return from?.state.kind === "in_flight" && after.state.kind === "due" && "rest" in after.state;
}

/** Checks the rest of an attempt whose receiver's host is paused. */
function restFault({ now, instance }: Change, from: Callback, after: Callback): string | null {
  const { state } = after;
  if (state.kind !== "due" || state.rest === undefined || isEqual(from.state, state)) return null;
  const { until, lookAt } = state.rest;
  const isListed = instance.pausedHosts.get(hostIn(after.url)) === until;
  const fault = firstViolation({
    "an attempt rests while its host is known to be paused": isListed && until > now,
    "the paused hosts are asked for before an attempt is due or looks again":
      from.state.kind !== "due" || instance.pausesAskedAt >= now,
    "a resting attempt looks again after 1 to 10 minutes":
      lookAt >= now + MINUTE && lookAt <= now + 10 * MINUTE,
  });
  if (fault !== null || from.state.kind !== "in_flight") return fault;
  const { number, dueAt } = from.state;
  return firstViolation({
    "an attempt that was not sent does not count":
      after.lastNumber === number - 1 &&
      after.series.started === from.series.started - 1 &&
      isEqual(from.attempts, after.attempts),
    "an attempt keeps the time for which it was planned": state.nextAttemptAt === dueAt,
  });
}

/** Returns the host of a URL, as pauses name it. */
function hostIn(url: string): string {
  return new URL(url).host;
}

/**
 * Checks the fields of a callback that never change, or only with another redelivery, also one that joins a
 * waiting attempt.
 */
function stayFault(
  { before, history }: Change,
  from: Callback,
  after: Callback,
  mayChange: boolean,
): string | null {
  const isFirst = before === null || !isTerminal(before);
  const isDeliveredStill = from.deliveredAt === null || after.deliveredAt === from.deliveredAt;
  return firstViolation({
    "a callback once delivered stays so": isDeliveredStill,
    "a callback has the schedule with which its task was created": isEqual(
      after.terms?.scheduleMs ?? null,
      history.callback.scheduleMs,
    ),
    "a callback has the events with which its task was created": isEqual(
      after.terms?.events ?? null,
      history.callback.events,
    ),
    "a callback has the endpoint with which its task was created":
      mayChange ||
      isEqual(
        after.terms?.endpoint ?? null,
        isFirst ? history.callback.endpoint : (from.terms?.endpoint ?? null),
      ),
    "the URL stays": mayChange || after.url === from.url,
    "the keyed redeliveries stay":
      mayChange || isEqual(from.keyedRedeliveries, after.keyedRedeliveries),
  });
}

/** Checks the end of the running attempt. */
function endFault(
  { now, history, setting }: Change,
  from: Callback,
  open: InFlight,
  after: Callback,
): string | null {
  const attempt = after.attempts.at(-1);
  if (attempt === undefined || attempt.number !== open.number)
    return "an ended attempt is recorded";
  const { outcome } = attempt;
  const received = history.endOf(open.number);
  const endedAt = outcome === "interrupted" ? now : Math.min(received?.at ?? now, now);
  const scheduleMs = history.callback.scheduleMs ?? setting.scheduleMs;
  const total = after.series.ordered ?? scheduleMs.length;
  const nextAt = endOf(attempt) + waitAfterLastMs(after, scheduleMs);
  return firstViolation({
    "an attempt is interrupted when its time is over":
      outcome !== "interrupted" || now >= open.startedAt + SENDING_MS,
    "the recorded outcome is the received one":
      outcome === "interrupted" || received?.outcome === outcome,
    "the start of an attempt stays": attempt.startedAt === open.startedAt,
    "an attempt ends when its receiver has answered, or is found interrupted":
      endOf(attempt) === Math.max(endedAt, open.startedAt),
    "2xx is delivered, nothing else":
      (after.state.kind === "delivered") === (outcome === "delivered"),
    "a delivery is dated":
      outcome !== "delivered" || after.deliveredAt === (from.deliveredAt ?? endOf(attempt)),
    "failed after the last attempt":
      (after.state.kind === "failed") === isLast(outcome, after, total),
    "the next attempt waits from the end of this one":
      after.state.kind !== "due" || after.state.nextAttemptAt === nextAt,
    "no attempt opens before its wait":
      after.state.kind !== "in_flight" && after.state.kind !== "held",
  });
}

function openFault(
  { now, setting, history }: Change,
  from: Callback,
  { number, startedAt }: InFlight,
): string | null {
  const { nextAttemptAt = now, rest } = from.state.kind === "due" ? from.state : {};
  const dueAt = Math.max(nextAttemptAt, rest?.lookAt ?? 0);
  return firstViolation({
    "numbers have no gaps": number === from.lastNumber + 1 && !history.written.openers.has(number),
    "an attempt starts now": startedAt === now,
    "no attempt starts early": now >= dueAt,
    "nothing is sent while paused": !setting.isPaused,
  });
}

/** Tells whether a commit that begins a series plans its first attempt at the right time. */
function isWaitRight(
  { now, setting, history }: Change,
  from: Callback,
  after: Callback,
  isOrdered: boolean,
): boolean {
  const isBegun = isOrdered || from.state.kind === "held";
  if (!isBegun || isHeld(after)) return true;
  const waitMs = isOrdered ? 0 : ((history.callback.scheduleMs ?? setting.scheduleMs)[0] ?? 0);
  const isResting = after.state.kind === "due" && after.state.rest !== undefined;
  if (waitMs === 0 && !setting.isPaused && !isResting) return after.state.kind === "in_flight";
  return after.state.kind === "due" && after.state.nextAttemptAt === now + waitMs;
}

function startedAfter(from: Callback, after: Callback, isOrdered: boolean): number {
  const before = isOrdered ? 0 : from.series.started;
  return after.state.kind === "in_flight" ? before + 1 : before;
}

function isLast(outcome: Attempt["outcome"], { series }: Callback, total: number): boolean {
  return outcome !== "delivered" && series.started >= total;
}

function endOf({ startedAt, durationMs }: Attempt): number {
  return startedAt + durationMs;
}

/** Returns the attempts that ended, each with its URL and with the name and the secret of its endpoint. */
function endedIn({ attempts, url: presentUrl, terms }: Callback) {
  return attempts.map(({ endpoint: past, url, ...attempt }) => {
    const endpoint = url === null ? terms?.endpoint : past;
    const to = [url ?? presentUrl, endpoint?.name, endpoint?.headers?.names, endpoint?.secret];
    return { ...attempt, to: JSON.stringify(to) };
  });
}

function isAlike(from: Callback, after: Callback): boolean {
  return from.state.kind === after.state.kind && from.series.number === after.series.number;
}

function isHeld({ state }: Callback): boolean {
  return state.kind === "held";
}

function isOver({ state }: Callback): boolean {
  return state.kind === "delivered" || state.kind === "failed";
}

function unsent(url: string): Callback {
  return {
    url,
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
 * Returns the wait after the last attempt of a callback, if that failed, in milliseconds. The first
 * interrupted attempt of a series is followed after 5 s; every other attempt is followed after the next wait
 * of the schedule.
 */
function waitAfterLastMs(callback: Callback, scheduleMs: readonly number[]): number {
  const waitsMs = scheduleMs.slice(1);
  let isFirst = true;
  let waitMs = 0;
  for (const { outcome } of ownAttempts(callback)) {
    const isSpared = isFirst && outcome === "interrupted";
    waitMs = isSpared ? AFTER_FIRST_INTERRUPTION_MS : (waitsMs.shift() ?? scheduleMs.at(-1) ?? 0);
    if (isSpared) isFirst = false;
  }
  return waitMs;
}

/** Returns names of the facts about crashes that the plan of the next attempt shows. */
export function observedWaits(callback: Callback | null): readonly string[] {
  if (callback === null) return [];
  const interrupted = ownAttempts(callback).filter(({ outcome }) => outcome === "interrupted");
  if (callback.state.kind !== "due" || interrupted.length === 0) return [];
  if (callback.attempts.at(-1) !== interrupted.at(-1)) return ["a series goes on after a crash"];
  return interrupted.length > 1 ? ["a series is interrupted again"] : [];
}

/** Returns the attempts of the latest series. */
function ownAttempts({ attempts, series }: Callback): readonly Attempt[] {
  return attempts.filter((attempt) => attempt.series === series.number);
}
