import type { Policy } from "../policy.ts";
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

/** Returns when a due attempt may start: at its time, but not while the relay is paused. */
export function dueAt(state: { readonly nextAttemptAt: number }, policy: Policy): number {
  return Math.max(state.nextAttemptAt, policy.pausedUntil);
}
