import { backoff } from "../backoff.ts";

/** Credits that a task costs, and where they are. */
export interface Credits {
  readonly accountId: string;
  /** More than 0. */
  readonly amount: number;
  /**
   * The ledger's reference of the charge, new for every life of a task id; null: the operator's own
   * billing has charged, and is told to refund.
   */
  readonly chargeId: string | null;
  readonly state: CreditsState;
}

export type CreditsState =
  | { readonly kind: "charged" }
  | ({ readonly kind: "refunding" } & Retry)
  | { readonly kind: "refunded" };

/** Credits that the ledger has been asked for. */
export interface ChargingCredits extends Omit<Credits, "chargeId" | "state"> {
  readonly chargeId: string;
  readonly state: { readonly kind: "charging" } & Retry;
}

/** A call that is repeated until it is answered. */
export interface Retry {
  readonly retryAt: number;
  readonly tries: number;
}

const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 300_000;

/** The next try of an unanswered call: 5 s later, then twice as long each time, at most 5 minutes. */
export function laterRetry({ tries }: Retry, now: number): Retry {
  const waitMs = backoff(FIRST_RETRY_MS, tries, MAX_RETRY_MS);
  return { retryAt: now + waitMs, tries: tries + 1 };
}

/** What a failure owes: credits that were taken are on their way back. */
export function owedAtFailure(credits: Credits | null, now: number): Credits | null {
  if (credits === null) return null;
  return { ...credits, state: { kind: "refunding", retryAt: now, tries: 0 } };
}

export function isRefunding(credits: Credits | null): boolean {
  return credits?.state.kind === "refunding";
}
