import { type Policy, startAt } from "../policy.ts";
import type { CallbackTarget } from "./callback-terms.ts";
import type { PastEndpoint } from "./endpoint-copy.ts";
import type { Outcome, UnreachableCause } from "./outcome.ts";
import type { KeyedRedeliveries } from "./redelivery-keys.ts";
import type { OutcomeCounts } from "./outcome.ts";

/**
 * Largest number of ended attempts of a callback that a record stores. When another one ends, the oldest is removed
 * from the record; its number is not used again.
 */
export const MAX_ATTEMPTS_KEPT = 20;

/** The callback of a terminal task: the attempts so far, and the plan of the next one. */
export interface Callback extends CallbackTarget {
  /** Attempts that have ended, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Number of attempts that were removed from `attempts` because there were too many, for each outcome. */
  readonly droppedOutcomes: OutcomeCounts;
  readonly lastNumber: number;
  readonly series: Series;
  readonly state: CallbackState;
  /**
   * Time of the first successful attempt, in Unix milliseconds. A redelivery does not change it. Null when no
   * attempt has succeeded.
   */
  readonly deliveredAt: number | null;
  readonly keyedRedeliveries: KeyedRedeliveries;
}

/**
 * A series: attempts of a callback that belong together. Series 1 has the automatic attempts; every redelivery
 * starts another series.
 */
export interface Series {
  readonly number: number;
  /** Number of attempts started in this series, i.e. of the automatic attempts or of those of one redelivery. */
  readonly started: number;
  /**
   * Number of attempts that the redelivery asks for. Null for the automatic attempts, because the configured
   * schedule decides their number.
   */
  readonly ordered: number | null;
  /** Name of the API key that ordered the redelivery; null for the automatic attempts. */
  readonly keyName: string | null;
}

export type CallbackState =
  /** State of a callback whose first attempt waits until the credits of the failed task have been refunded. */
  | { readonly kind: "held" }
  | {
      readonly kind: "due";
      readonly nextAttemptAt: number;
      /** Present while the attempt, which is due, rests because its receiver's host is paused. */
      readonly rest?: Rest;
    }
  | ({ readonly kind: "in_flight"; readonly number: number } & AttemptTimes)
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" };

/** State of a callback whose next attempt is planned. */
type DueState = Extract<CallbackState, { readonly kind: "due" }>;

/** The rest of an attempt whose receiver's host is paused. Times are Unix milliseconds. */
export interface Rest {
  /** End of the pause, as the task knew it when it looked last. The operator may have moved it since. */
  readonly until: number;
  /** Time at which the task looks again whether the host is still paused. */
  readonly lookAt: number;
}

/** The times of an attempt, in Unix milliseconds. */
interface AttemptTimes {
  /** Time for which the attempt was planned. */
  readonly dueAt: number;
  readonly startedAt: number;
}

/** An attempt that has ended. */
export interface Attempt extends AttemptTimes {
  readonly number: number;
  readonly series: number;
  /** URL to which the attempt went. Null when it went to the present receiver of the callback. */
  readonly url: string | null;
  /** Endpoint at that URL. Absent when the URL is null, and when the receiver was a URL alone. */
  readonly endpoint?: PastEndpoint;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
  /**
   * Code of the error (e.g. 1003) that Cloudflare has answered in place of the receiver. Null when there was no such
   * error.
   */
  readonly cloudflareError: number | null;
  /**
   * Reason why a listener was unreachable. A listener is a program that receives callbacks over a WebSocket and passes
   * them on. Null for every other attempt; for one over HTTP, `causeOf` derives the reason from the HTTP status.
   */
  readonly cause: UnreachableCause | null;
  /**
   * Some headers of the receiver's answer (`AnswerHeaders`). Null when there was no answer, or when it had none of
   * these headers.
   */
  readonly answer: AnswerHeaders | null;
  /**
   * Shortened SHA-256 of the headers that were sent. When the relay computes the request again to show it to a reader,
   * an equal hash proves that the computed headers are those that were sent. Null when nothing was sent, and when a
   * crash interrupted the attempt.
   */
  readonly sentDigest: string | null;
  /**
   * Name of the API key that ordered the redelivery to which this attempt belongs. Null for an automatic attempt.
   */
  readonly keyName: string | null;
}

/** Start and end of an attempt by the clock of its sender, in Unix milliseconds. */
export interface SentTimes {
  /** Also distinguishes the attempt from one with the same number of an earlier task with the same id. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Result of sending one attempt of a callback. */
export interface AttemptResult {
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
  readonly cloudflareError: number | null;
  readonly cause: UnreachableCause | null;
  readonly answer: AnswerHeaders | null;
  readonly sentDigest: string | null;
}

/** Headers of a receiver's answer that help to find a fault. All of them together have at most 256 characters. */
export interface AnswerHeaders {
  readonly contentType: string | null;
  /** Host to which the header `Location` of a redirect points. */
  readonly locationHost: string | null;
  /** Header `Retry-After` as the receiver sent it. It is logged, but the relay does not follow it. */
  readonly retryAfter: string | null;
}

/**
 * Returns the result of an attempt to which no receiver has answered.
 * @param cause why a listener (a program that receives callbacks over a WebSocket) was unreachable. Null for attempts
 * over HTTP, because a failed `fetch` does not state the reason.
 */
export function unansweredAttempt(
  outcome: Outcome,
  cause: UnreachableCause | null = null,
): AttemptResult {
  const none = { statusCode: null, responseExcerpt: null, cloudflareError: null, answer: null };
  return { outcome, cause, ...none, sentDigest: null };
}

export function isCallbackSettled({ state }: Callback): boolean {
  return state.kind === "delivered" || state.kind === "failed";
}

/** Statuses of a callback, as the API shows them, while the series of attempts goes on. */
export const OPEN_CALLBACK_STATUSES = ["sending", "retrying", "paused"] as const;

/** Statuses of the callback of a task that has ended, as the API shows them. */
export const ENDED_CALLBACK_STATUSES = [...OPEN_CALLBACK_STATUSES, "delivered", "failed"] as const;
export type CallbackStatus = (typeof ENDED_CALLBACK_STATUSES)[number];

/** Statuses of the callback of any task, as the API shows them. */
export const CALLBACK_STATUSES = ["waiting", ...ENDED_CALLBACK_STATUSES] as const;

/**
 * Returns the status of a callback as the API shows it: that of the latest series. `sending` lasts until the first
 * attempt has ended, `retrying` from then on until the series has ended, and `paused` while an attempt of either rests
 * because the receiver's host is paused.
 */
export function callbackStatus({ state, series }: Callback): CallbackStatus {
  switch (state.kind) {
    case "held":
      return "sending";
    case "due":
      if (state.rest !== undefined) return "paused";
      return series.started === 0 ? "sending" : "retrying";
    case "in_flight":
      return series.started === 1 ? "sending" : "retrying";
    case "delivered":
    case "failed":
      return state.kind;
  }
}

/** Tells whether a status of a callback says that another attempt runs or will be made. */
export function isOpenStatus(status: string | null | undefined): boolean {
  return OPEN_CALLBACK_STATUSES.some((open) => open === status);
}

/**
 * Returns the time from which the next attempt of a callback may start, in Unix milliseconds. It is the planned
 * time of the attempt. While the relay or the receiver's host is paused, it may be later: the time of the next check
 * whether the pause is over.
 */
export function dueAt({ nextAttemptAt, rest }: Omit<DueState, "kind">, policy: Policy): number {
  return startAt(Math.max(nextAttemptAt, rest?.lookAt ?? 0), policy, nextAttemptAt);
}
