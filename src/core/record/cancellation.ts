import { backoff } from "../backoff.ts";
import type { Policy } from "../policy.ts";
import { SECOND_MS } from "../time.ts";
import { hasCustomerKey, isReadable, sealedKeyOf } from "./customer-key.ts";
import type { Submission } from "./submission.ts";
import type { Upstream } from "./upstream.ts";

/** Largest number of calls to the upstream for one cancellation. */
const MAX_TRIES = 3;
const FIRST_WAIT_MS = 5 * SECOND_MS;
const MAX_WAIT_MS = 10 * SECOND_MS;
/**
 * Time in milliseconds for which the upstream is asked to cancel the job of a task that has reached its deadline. After
 * this time the task fails.
 */
const DEADLINE_TIME_MS = 30 * SECOND_MS;
/** Value of `error.code` for a task that was canceled. */
export const CANCELED_CODE = "canceled";

/** The latest order to cancel a task, and its effect on the task's job at the upstream. Times are Unix milliseconds. */
export interface Cancellation {
  /**
   * Reason of the cancellation: `order` when a person has ordered it, `deadline` when the task has reached its deadline
   * without a result.
   */
  readonly reason: CancelReason;
  readonly requestedAt: number;
  /**
   * Time at which the task fails without a result, because it has reached its deadline. Null for an order before the
   * deadline: such an order does not make the task fail at a certain time.
   */
  readonly endsAt: number | null;
  readonly state: CancelState;
}

export type CancelReason = (typeof CANCEL_REASONS)[number];
export const CANCEL_REASONS = ["order", "deadline"] as const;

export type CancelState =
  /**
   * State while the upstream is asked to cancel the job. The next call is made at `retryAt`; `tries` is the number of
   * calls that got no answer.
   */
  | { readonly kind: "asking"; readonly retryAt: number; readonly tries: number }
  | AnsweredCancel
  /** State after the upstream has confirmed that the job is canceled. */
  | { readonly kind: "confirmed" }
  /**
   * State of an order for which the upstream was not asked, because no job was known, the job cannot be canceled, or
   * the order was to fail the task at once. If the job is running, it goes on.
   */
  | { readonly kind: "not_sent" };

/** State after the upstream has answered without confirming the cancellation, or has not answered the last call. */
export interface AnsweredCancel {
  /**
   * Kind of the upstream's answer to a cancellation:
   * - `accepted`: the upstream has taken the order. The job may stop, or end first.
   * - `ended`: the job has ended already, so its result counts.
   * - `refused`: the upstream does not cancel the job.
   * - `unknown`: the answer was not understood, or none has come.
   */
  readonly kind: AnsweredKind;
  /** Time from which the job is polled to see the effect of the cancellation. */
  readonly answeredAt: number;
  /**
   * HTTP status of the upstream's answer. Null when no answer came, and when no call was made because the upstream
   * cancels no job in this state.
   */
  readonly statusCode: number | null;
}

export type AnsweredKind = (typeof ANSWERED_KINDS)[number];
export const ANSWERED_KINDS = ["accepted", "ended", "refused", "unknown"] as const;

/**
 * Times of the polls that show what has become of a job after the upstream's answer to a cancellation, in milliseconds
 * after this answer.
 */
const POLL_WAITS_MS = [0, 1, 3, 10, 30, 60, 120].map((seconds) => seconds * SECOND_MS);
/**
 * Times of the polls of a job after the upstream has refused to cancel it, in milliseconds after this answer. One poll
 * is enough: it finds a result that exists already; without one, the job goes on as before.
 */
const POLL_WAITS_AFTER_REFUSAL_MS = [0];

/** Tells whether the relay can ask the upstream to cancel the job of a task. */
export function canCancelJob(
  task: { readonly upstream: Upstream | null; readonly submission: Submission | null },
  policy: Policy,
): boolean {
  const { upstream } = task;
  if (upstream === null || upstream.job === null || !isKeyReadable(task, policy)) return false;
  const { connection, job } = upstream;
  return policy.isCancelable({ connection, job }, hasCustomerKey(task));
}

/**
 * Tells whether the customer's key with which a job was submitted can be decrypted. True when no customer's key was
 * used.
 */
function isKeyReadable(task: { readonly submission: Submission | null }, policy: Policy): boolean {
  if (!hasCustomerKey(task)) return true;
  const key = sealedKeyOf(task);
  return key !== null && isReadable(key, policy);
}

/** Returns a new order to cancel a task, when the upstream is asked at `now` to cancel the job. */
export function startCancellation(now: number): Cancellation {
  return { reason: "order", requestedAt: now, endsAt: null, state: askingSince(now) };
}

/** Returns a new order to cancel a task, when the upstream is not asked to cancel the job. */
export function unsentCancellation(now: number): Cancellation {
  return { reason: "order", requestedAt: now, endsAt: null, state: { kind: "not_sent" } };
}

/**
 * Returns the cancellation of a task that has reached its deadline: an earlier order to cancel if its outcome is still
 * open, otherwise a new cancellation. The task fails at the time `endsAt` of this cancellation, unless a result comes
 * before.
 */
export function deadlineCancellation(known: Cancellation | null, now: number): Cancellation {
  const endsAt = now + DEADLINE_TIME_MS;
  if (known !== null && isPending(known)) return { ...known, endsAt };
  return { reason: "deadline", requestedAt: now, endsAt, state: askingSince(now) };
}

function askingSince(now: number): CancelState {
  return { kind: "asking", retryAt: now, tries: 0 };
}

/**
 * Returns the cancellation of a task after another job was attached to it: a cancellation in progress goes on for the
 * new job, and any other is removed.
 */
export function cancellationOfNewJob(known: Cancellation | null, now: number): Cancellation | null {
  return known === null || askingOf(known) === null ? null : { ...known, state: askingSince(now) };
}

/** Tells whether the upstream may still confirm the cancellation: it is being asked, or has accepted the order. */
function isPending({ state }: Cancellation): boolean {
  return state.kind === "asking" || state.kind === "accepted";
}

/**
 * Returns when the next call of a cancellation to the upstream is made, and how many calls had no answer. Null when no
 * further call is made.
 */
export function askingOf({
  state,
}: Cancellation): Extract<CancelState, { readonly kind: "asking" }> | null {
  return state.kind === "asking" ? state : null;
}

/**
 * Returns the cancellation after a call that got no usable answer: no answer at all, an error of the upstream, or a
 * rate limit. The call is repeated after 5 s and after 10 s; after the third call the outcome is unknown.
 */
export function withoutAnswer(
  known: Cancellation,
  statusCode: number | null,
  pollFrom: number,
  now: number,
): Cancellation {
  const asking = askingOf(known);
  if (asking === null) return known;
  const tries = asking.tries + 1;
  if (tries >= MAX_TRIES) return withAnswer(known, "unknown", statusCode, pollFrom, now);
  const retryAt = now + backoff(FIRST_WAIT_MS, asking.tries, MAX_WAIT_MS);
  return { ...known, state: { kind: "asking", retryAt, tries } };
}

/**
 * Returns the cancellation after an answer of the upstream that does not confirm it. If the task has reached its
 * deadline and the answer is a refusal or was not understood, there is nothing left to wait for, so the task fails
 * after one more poll.
 * @param pollFrom time from which the job is polled because of the answer, in Unix milliseconds.
 */
export function withAnswer(
  known: Cancellation,
  kind: AnsweredKind,
  statusCode: number | null,
  pollFrom: number,
  now: number,
): Cancellation {
  const state = { kind, answeredAt: pollFrom, statusCode };
  const isOver = kind === "refused" || kind === "unknown";
  const endsAt = known.endsAt !== null && isOver ? Math.min(known.endsAt, now) : known.endsAt;
  return { ...known, endsAt, state };
}

/** Returns the cancellation after the upstream has confirmed that the job is canceled. */
export function confirmed(known: Cancellation): Cancellation {
  return { ...known, state: { kind: "confirmed" } };
}

/**
 * Returns the time of the first poll after `time` that is made to see the effect of a cancellation which the upstream
 * has answered, in Unix milliseconds. Infinity when there is none.
 */
export function cancelPollAfter(known: Cancellation | null, time: number): number {
  if (known === null || !isAnswered(known.state)) return Infinity;
  const { answeredAt, kind } = known.state;
  const waits = kind === "refused" ? POLL_WAITS_AFTER_REFUSAL_MS : POLL_WAITS_MS;
  return waits.map((waitMs) => answeredAt + waitMs).find((each) => each > time) ?? Infinity;
}

/** Tells whether the upstream answered to a cancellation at `time` or later. */
export function isCancelAnsweredSince(known: Cancellation | null, time: number): boolean {
  return known !== null && isAnswered(known.state) && known.state.answeredAt >= time;
}

function isAnswered(state: CancelState): state is AnsweredCancel {
  return ANSWERED_KINDS.some((kind) => kind === state.kind);
}
