import { backoff } from "../backoff.ts";
import { MINUTE_MS, SECOND_MS } from "../time.ts";

/** Credits that a task costs, and whether they are charged or refunded. */
export interface Credits {
  readonly accountId: string;
  /** Number of credits, more than 0. */
  readonly amount: number;
  /**
   * Reference of the charge in the ledger, new each time a task id is used; null when the operator's own
   * billing charges and refunds the task, instead of the ledger.
   */
  readonly chargeId: string | null;
  readonly state: CreditsState;
}

export type CreditsState =
  | { readonly kind: "charged" }
  | ({ readonly kind: "refunding" } & Retry)
  /**
   * State of refunded credits; `at` is null when the refund was confirmed under an earlier release, which did
   * not store the time.
   */
  | { readonly kind: "refunded"; readonly at: number | null };

/** Credits whose charge the ledger has not answered yet. */
export interface ChargingCredits extends Omit<Credits, "chargeId" | "state"> {
  readonly chargeId: string;
  readonly state: { readonly kind: "charging" } & Retry;
}

/** Plan of a call that charges or refunds credits, and is repeated until it is answered. */
export interface Retry {
  /** Time of the next call, in Unix milliseconds. */
  readonly retryAt: number;
  readonly tries: number;
}

const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 5 * MINUTE_MS;

/** Plans the next try of an unanswered call: 5 s later, doubled for every earlier try, at most 5 minutes. */
export function planRetry({ tries }: Retry, now: number): Retry {
  const waitMs = backoff(FIRST_RETRY_MS, tries, MAX_RETRY_MS);
  return { retryAt: now + waitMs, tries: tries + 1 };
}

/** Starts the refund of the credits of a failed task. */
export function startRefund(credits: Credits | null, now: number): Credits | null {
  if (credits === null) return null;
  return { ...credits, state: { kind: "refunding", retryAt: now, tries: 0 } };
}

export function isRefunding(credits: Credits | null): boolean {
  return credits?.state.kind === "refunding";
}
