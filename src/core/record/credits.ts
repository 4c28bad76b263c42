import type { FinalPrice } from "./price-rule.ts";
import type { Retry } from "./retry.ts";

/** The credits that were charged for a task, and whether they, or a part of them, were given back. */
export interface Credits {
  readonly accountId: string;
  /**
   * Number of credits that are charged, more than 0: the price or, if a rule decides the price at the end, the most it
   * can be.
   */
  readonly amount: number;
  /**
   * Reference of the charge in the ledger; it is not used again for a later task with the same id. Null when the
   * operator's own billing, and not the ledger, charges and refunds the task.
   */
  readonly chargeId: string | null;
  /**
   * Final price of the completed task according to the rule for its price (record/price-rule.ts). Null until the task
   * is completed, and for a price without a rule.
   */
  readonly final: FinalPrice | null;
  readonly state: CreditsState;
}

export type CreditsState =
  | { readonly kind: "charged" }
  /** State of the credits of a completed task while those above its final price are given back. */
  | ({ readonly kind: "releasing" } & Retry)
  | { readonly kind: "released"; readonly at: number }
  | ({ readonly kind: "refunding" } & Retry)
  | { readonly kind: "refunded"; readonly at: number };

/**
 * Credits of a task that readers do not see, because the ledger has not answered its charge yet, or because its
 * submission was refused and the credits are being refunded.
 */
export type HiddenCredits = ChargingCredits | ReturnedCredits;

/** Credits of a task whose charge the ledger has not answered yet. */
export interface ChargingCredits extends Omit<Credits, "chargeId" | "final" | "state"> {
  readonly chargeId: string;
  readonly state: { readonly kind: "charging" } & Retry;
}

/** Credits that are refunded because the submission of the task was refused. The task is erased after the refund. */
export interface ReturnedCredits extends Omit<Credits, "final" | "state"> {
  readonly state: { readonly kind: "refunding" } & Retry;
}

/** Tells whether the ledger still has to answer the charge of a task that readers do not see. */
export function isCharging(credits: HiddenCredits): credits is ChargingCredits {
  return credits.state.kind === "charging";
}

/** Returns the credits of a failed task with their refund planned for now. Null when the task costs nothing. */
export function startRefund(credits: Credits | null, now: number): Credits | null {
  if (credits === null) return null;
  return { ...credits, state: { kind: "refunding", retryAt: now, tries: 0 } };
}

/** Returns the credits of a task whose submission was refused, with their refund planned for now. */
export function startReturn(
  { accountId, amount, chargeId }: Credits,
  now: number,
): ReturnedCredits {
  return { accountId, amount, chargeId, state: { kind: "refunding", retryAt: now, tries: 0 } };
}

/**
 * Returns the credits of a completed task with its final price. The release of the credits above this price is planned
 * for now.
 */
export function withFinalPrice(credits: Credits, final: FinalPrice, now: number): Credits {
  const isMore = credits.amount > final.credits;
  const state: CreditsState = isMore
    ? { kind: "releasing", retryAt: now, tries: 0 }
    : credits.state;
  return { ...credits, final, state };
}

export function isRefunding(credits: Credits | null): boolean {
  return credits?.state.kind === "refunding";
}

export function isReleasing(credits: Credits | null): boolean {
  return credits?.state.kind === "releasing";
}

/** Returns the part of the charged credits that is given back after the completion of the task; 0 when there is none. */
export function releasedOf({ amount, final }: Credits): number {
  return final === null ? 0 : amount - final.credits;
}
