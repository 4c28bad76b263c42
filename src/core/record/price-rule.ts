import { ceilOfProduct } from "../decimal.ts";
import type { JsonObject } from "../json.ts";
import type { Usage } from "./upstream.ts";

// A price by usage: the rule, and what a task costs by it. The amount is fixed when the task completes
// (events/final-price.ts), the rest of the charge is released by a duty (duties/release.ts) and booked by the ledger
// (objects/account/ledger-book.ts).

/** The price of a task in credits. */
export interface Price {
  /** Credits that are charged at the registration; the task never costs more. */
  readonly credits: number;
  /** Rule that decides what a completed task costs. Null when it costs all credits that were charged. */
  readonly rule: PriceRule | null;
}

/**
 * Rule for what a completed task costs, by a number that is known only at its end, e.g. the tokens that its job has
 * used. The task costs this number × the rate ÷ `units`, rounded up once, but at least `min` and at most the credits
 * that were charged.
 */
export interface PriceRule {
  /**
   * Source of the number on which the price depends: the usage that the upstream states, or a field of the output
   * metadata.
   */
  readonly by: "usage" | "field";
  /**
   * Name of the number on which the price depends, in the usage or in the output metadata, e.g. `completion_tokens` or
   * `duration`.
   */
  readonly name: string;
  /** Number of units to which the rate applies, more than 0: 1,000 when the rate is the price of 1,000 tokens. */
  readonly units: number;
  readonly rate: Rate;
  /** Fewest credits that the task costs, from 0 to the credits that were charged. */
  readonly min: number;
}

/**
 * Price in credits, more than 0, of `units` (`PriceRule`) of the number on which a price depends, e.g. of 1,000 tokens.
 * It is one number for all outputs, or an object with one number for each `resolution` of the output metadata.
 */
export type Rate = number | Readonly<Record<string, number>>;

/** Fields of the output metadata on which a price may depend. */
export const PRICED_FIELDS = ["duration"] as const;

/** Credits that a completed task costs by its rule, and the basis of that amount. */
export interface FinalPrice {
  readonly credits: number;
  /**
   * Source of the number by which the price was decided: the usage that the upstream states, or a field of the output
   * metadata. `hold` when that number was not known, so that the task costs all credits that were charged.
   */
  readonly basis: PriceBasis;
}

export type PriceBasis = (typeof PRICE_BASES)[number];
export const PRICE_BASES = ["usage", "field", "hold"] as const;

/**
 * Reason why the price of a completed task is not known:
 * - `absent`: the result does not contain the number on which the price depends.
 * - `not_positive`: the number is zero, negative or not finite.
 * - `no_rate`: the rule has no rate for the resolution of the output.
 */
export type UnknownPrice = "absent" | "not_positive" | "no_rate";

/** The parts of the result of a job from which its price is computed. */
export interface PricedResult {
  readonly usage: Usage | null;
  readonly metadata: JsonObject;
}

/** The final price of a completed task, and what the operator is told if something about it is unusual. */
export interface PriceDecision {
  readonly final: FinalPrice;
  /** Reason why the price is not known; null when it is known. */
  readonly unknown: UnknownPrice | null;
  /**
   * Number of credits by which the price that follows from the rule is higher than the charge; 0 when it is not higher.
   */
  readonly missing: number;
}

/**
 * Returns what a completed task costs by its rule. It is never more than the `hold`, the credits that were charged for
 * the task. When the number on which the price depends is not known, the task costs the whole hold.
 */
export function decidePrice(hold: number, rule: PriceRule, result: PricedResult): PriceDecision {
  const { by, units, min } = rule;
  const amount = amountOf(rule, result);
  const rate = rateOf(rule, result);
  if (amount === null) return unknownPrice(hold, "absent");
  if (!(amount > 0 && Number.isFinite(amount))) return unknownPrice(hold, "not_positive");
  if (rate === null) return unknownPrice(hold, "no_rate");
  const price = ceilOfProduct(amount, rate, units);
  const most = BigInt(hold);
  const missing = price > most ? Math.min(Number(price - most), Number.MAX_SAFE_INTEGER) : 0;
  const credits = price > most ? hold : Math.max(Number(price), min);
  return { final: { credits, basis: by }, unknown: null, missing };
}

function unknownPrice(hold: number, unknown: UnknownPrice): PriceDecision {
  return { final: { credits: hold, basis: "hold" }, unknown, missing: 0 };
}

/**
 * Returns the number that decides the price according to the rule, e.g. the used tokens. Null when the result does not
 * contain it, or not as a number.
 */
function amountOf({ by, name }: PriceRule, { usage, metadata }: PricedResult): number | null {
  const amounts = by === "usage" ? (usage ?? {}) : metadata;
  const amount = Object.hasOwn(amounts, name) ? amounts[name] : null;
  return typeof amount === "number" ? amount : null;
}

/** Returns the rate that the rule has for the resolution of the output. Null when the rule has none. */
function rateOf({ rate }: PriceRule, { metadata: { resolution } }: PricedResult): number | null {
  if (typeof rate === "number") return rate;
  const isListed = typeof resolution === "string" && Object.hasOwn(rate, resolution);
  return isListed ? (rate[resolution] ?? null) : null;
}
