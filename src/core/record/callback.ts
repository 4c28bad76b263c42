import { type Policy, startAt } from "../policy.ts";
import type { Outcome, UnreachableCause } from "./outcome.ts";
import type { Orderer, RedeliveryMemory } from "./redelivery-keys.ts";
import type { OutcomeCounts } from "./outcome-counts.ts";

/** Number of attempts kept in the record. Older ones are dropped; their numbers are not used again. */
export const MAX_ATTEMPTS_KEPT = 20;

/** The callback of a terminal task: the attempts so far, and the plan of the next one. */
export interface Callback extends RedeliveryMemory {
  readonly url: string;
  /** Attempts that have ended, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Outcomes of the attempts that are no longer in `attempts`. */
  readonly droppedOutcomes: OutcomeCounts;
  readonly lastNumber: number;
  readonly series: Series;
  readonly state: CallbackState;
  /**
   * Time at which an attempt first succeeded, in Unix milliseconds; kept through redeliveries. Null when
   * none has.
   */
  readonly deliveredAt: number | null;
}

/**
 * A series: the attempts of a callback that belong together, either the automatic ones (series 1) or those
 * of one redelivery.
 */
export interface Series {
  readonly number: number;
  /** Number of attempts started in this series. */
  readonly started: number;
  /**
   * Number of attempts that a redelivery asks for; null for the automatic attempts, whose number the
   * configured schedule decides.
   */
  readonly ordered: number | null;
  /** Name of the API key that ordered the redelivery; null for the automatic attempts. */
  readonly keyName: string | null;
}

export type CallbackState =
  /** State of a callback whose first attempt waits until the credits of the failed task are refunded. */
  | { readonly kind: "held" }
  | { readonly kind: "due"; readonly nextAttemptAt: number }
  | ({ readonly kind: "in_flight"; readonly number: number } & AttemptTimes)
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" };

/** Time for which an attempt was planned, and time at which it started, in Unix milliseconds. */
interface AttemptTimes {
  /**
   * Time for which the attempt was planned; null when an earlier release has recorded the attempt without it.
   */
  readonly dueAt: number | null;
  readonly startedAt: number;
}

/** An attempt that has ended. */
export interface Attempt extends AttemptTimes {
  readonly number: number;
  readonly series: number;
  /** URL to which the attempt went; null when that is the present URL of the callback. */
  readonly url: string | null;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly statusCode: number | null;
  readonly responseExcerpt: string | null;
  /** Code of the error that Cloudflare answered in place of the receiver, e.g. 1003; null for none. */
  readonly cloudflareError: number | null;
  /**
   * Cause of the outcome `unreachable` for an attempt that was addressed to a listener (a program that
   * receives callbacks over a WebSocket and passes them on); null for all other attempts, also over HTTP,
   * where `causeOf` derives the cause from the HTTP status.
   */
  readonly cause: UnreachableCause | null;
  /** Headers of the receiver's answer; null when there was no answer, or none of these headers. */
  readonly answer: AnswerHeaders | null;
  /**
   * Digest of the headers that were sent. It tells whether a request that is computed again later, to show it
   * to a reader, has the same headers. Null when nothing was sent, when a crash cut the attempt off, or when
   * a release that did not store the digest made the attempt.
   */
  readonly sentDigest: string | null;
  /** Name of the API key that ordered the series of this attempt; null for an automatic attempt. */
  readonly keyName: string | null;
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

/** Headers of a receiver's answer that help to find a fault, together at most 256 characters. */
export interface AnswerHeaders {
  readonly contentType: string | null;
  /** Host to which the header `Location` of a redirect points. */
  readonly locationHost: string | null;
  /** `Retry-After` header as the receiver sent it; logged, but not obeyed. */
  readonly retryAfter: string | null;
}

/**
 * Returns the result of an attempt to which no receiver answered.
 * @param cause why a listener (a program that receives callbacks over a WebSocket) was unreachable; null for
 * attempts over HTTP, because a failed `fetch` does not tell the reason.
 */
export function unansweredAttempt(
  outcome: Outcome,
  cause: UnreachableCause | null = null,
): AttemptResult {
  const none = { statusCode: null, responseExcerpt: null, cloudflareError: null, answer: null };
  return { outcome, cause, ...none, sentDigest: null };
}

/** An order for a redelivery, which starts another series of attempts. */
export interface RedeliveryOrder {
  readonly attempts: number;
  /** URL that replaces the URL of the callback from now on; null keeps it. */
  readonly callbackUrl: string | null;
  readonly orderedBy: Orderer;
  /**
   * `Idempotency-Key`, under which one caller orders a redelivery only once; another caller may use the same
   * key for an order of its own.
   */
  readonly idempotencyKey: string | null;
  /** Name of the API key that orders the redelivery. */
  readonly keyName: string | null;
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

/**
 * Returns the time from which the next attempt of a callback may start, in Unix milliseconds: its planned
 * time, or, while the relay is paused, the next check whether the pause is over.
 */
export function dueAt(state: { readonly nextAttemptAt: number }, policy: Policy): number {
  return startAt(state.nextAttemptAt, policy);
}
