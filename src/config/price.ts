import * as z from "zod/mini";
import { PRICED_FIELDS, type Price, type PriceRule } from "../core/record/price-rule.ts";
import { isUsageName } from "../providers/usage.ts";
import type { Provider } from "../providers/provider.ts";

/** Largest number of resolutions for which a price may have rates. */
const MAX_RATES = 32;
const MAX_RESOLUTION_CHARS = 32;

/**
 * Returns the schema of a price. A price is either fixed, `{"credits": 60}`, or depends on a number that is known at
 * the end of the task, `{"hold": 200, "min": 10, "per": …}`.
 * @param verb first word of the error messages: `be` when they follow the name of a field, `have` when they follow the
 * name of the variable that contains the field.
 */
export function priceForm(verb: "be" | "have") {
  const atLeast1 = `must ${verb} a whole number of at least 1`;
  const amount = z.int(atLeast1).check(z.gte(1, { error: atLeast1, abort: true }));
  const least = `must ${verb} a whole number of at least 0`;
  const rate = positive(verb);
  const rates = z
    .record(z.string().check(z.minLength(1), z.maxLength(MAX_RESOLUTION_CHARS)), rate)
    .check(z.refine(areFew, `must ${verb} numbers for 1 to ${MAX_RATES} resolutions`));
  const per = z
    .strictObject(
      {
        usage: z.nullish(
          z.string().check(z.refine(isUsageName, `must ${verb} a name like completion_tokens`)),
        ),
        field: z.nullish(z.enum(PRICED_FIELDS, `must ${verb} one of ${PRICED_FIELDS.join(", ")}`)),
        units: rate,
        credits: z.union(
          [rate, rates],
          `must ${verb} a number above 0, or such numbers by resolution like {"720p": 5}`,
        ),
      },
      `must ${verb} an object like {"usage": "completion_tokens", "units": 1000000, "credits": 15000}`,
    )
    .check(
      z.refine(({ usage, field }) => (usage == null) !== (field == null), {
        message: `must ${verb} either usage or field`,
      }),
    );
  return z
    .strictObject(
      {
        credits: z.nullish(amount),
        hold: z.nullish(amount),
        min: z.nullish(z.int(least).check(z.gte(0, least))),
        per: z.nullish(per),
      },
      `must ${verb} a price like {"credits": 60}`,
    )
    .check(
      z.refine(isFixedOrByRule, { message: `must ${verb} either credits, or hold and per` }),
      z.refine(({ min, hold }) => (min ?? 0) <= (hold ?? Infinity), {
        path: ["min"],
        message: "must not be above hold",
      }),
    );
}

/** Schema of a price that is stated in a request. */
export const PriceForm = priceForm("be");
export type PriceForm = z.output<typeof PriceForm>;

/** Returns the price that the members of a request or of an entry of `OFFERS` state. */
export function priceOf({ credits, hold, min, per }: PriceForm): Price {
  const charged = credits ?? hold;
  if (charged == null) throw new Error("a price without credits has passed its schema");
  return { credits: charged, rule: per == null ? null : ruleOf(per, min ?? 0) };
}

function ruleOf(per: NonNullable<PriceForm["per"]>, min: number): PriceRule {
  const { usage, field, units, credits: rate } = per;
  return usage == null
    ? { by: "field", name: field ?? "", units, rate, min }
    : { by: "usage", name: usage, units, rate, min };
}

/** Returns a price with the members with which operators write it in a request or in `OFFERS`. */
export function formOfPrice({ credits, rule }: Price): PriceForm {
  if (rule === null) return { credits };
  const { by, name, units, rate, min } = rule;
  return { hold: credits, min, per: { [by]: name, units, credits: rate } };
}

/**
 * Checks that the jobs of a provider state the usage on which a price depends.
 * @returns null when they state it, when the price does not depend on usage, and when the task has no provider (the
 * usage then comes from the operator's own upstream and can have any name). Otherwise the names of usage that the
 * provider states.
 */
export function usageNamesWithout(
  { rule }: Price,
  provider: Provider | null,
): readonly string[] | null {
  if (rule?.by !== "usage" || provider === null) return null;
  const known = provider.polls === null ? [] : (provider.usageNames ?? []);
  return known.includes(rule.name) ? null : known;
}

function positive(verb: string) {
  const message = `must ${verb} a number above 0`;
  return z.number(message).check(z.gt(0, message));
}

function isFixedOrByRule({ credits, hold, min, per }: Form): boolean {
  const isByRule = hold != null && per != null;
  const hasNoRule = hold == null && min == null && per == null;
  return credits == null ? isByRule : hasNoRule;
}

/** The members of a price as they are written in a request or in `OFFERS`. A null member counts as absent. */
interface Form {
  readonly credits?: unknown;
  readonly hold?: unknown;
  readonly min?: unknown;
  readonly per?: unknown;
}

function areFew(rates: object): boolean {
  const { length } = Object.keys(rates);
  return length >= 1 && length <= MAX_RATES;
}
