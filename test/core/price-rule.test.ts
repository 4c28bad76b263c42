import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ceilOfProduct } from "../../src/core/decimal.ts";
import {
  decidePrice,
  type PriceRule,
  type PricedResult,
} from "../../src/core/record/price-rule.ts";

const SEED = 20_261_127;

/** 15,000 credits per million tokens, at least 10 credits. */
const BY_TOKENS: PriceRule = {
  by: "usage",
  name: "completion_tokens",
  units: 1_000_000,
  rate: 15_000,
  min: 10,
};
const BY_SECONDS: PriceRule = {
  by: "field",
  name: "duration",
  units: 1,
  rate: { "720p": 5, "1080p": 9.5 },
  min: 0,
};

const used = (usage: Record<string, number> | null): PricedResult => ({ usage, metadata: {} });
const valueOf = ({ digits, scale }: { digits: number; scale: number }) =>
  Number(`${digits}e-${scale}`);
const tokens = (count: number) => used({ completion_tokens: count });
const shown = (metadata: PricedResult["metadata"]): PricedResult => ({ usage: null, metadata });

it.each<[string, PriceRule, PricedResult, number]>([
  ["a number of tokens", BY_TOKENS, tokens(2_000), 30],
  ["tokens for less than the minimum", BY_TOKENS, tokens(1), 10],
  ["tokens for a fraction of a credit more, rounded up", BY_TOKENS, tokens(2_001), 31],
  ["tokens for exactly the charged credits", BY_TOKENS, tokens(13_333.3333), 200],
  ["seconds at a rate by resolution", BY_SECONDS, shown({ duration: 5, resolution: "720p" }), 25],
  [
    "seconds at a rate with a fraction, rounded up once",
    BY_SECONDS,
    shown({ duration: 5, resolution: "1080p" }),
    48,
  ],
  [
    "dollars with decimals that no binary number has",
    { ...BY_TOKENS, name: "cost", units: 0.01, rate: 1, min: 0 },
    used({ cost: 0.29 }),
    29,
  ],
])(
  "a completed task whose price depends on usage costs what its price rule gives for %s",
  (_what, rule, result, credits) => {
    expect(decidePrice(200, rule, result)).toEqual({
      final: { credits, basis: rule.by },
      unknown: null,
      missing: 0,
    });
  },
);

it.each<[string, PriceRule, PricedResult, string]>([
  ["no usage", BY_TOKENS, used(null), "absent"],
  ["usage under another name", BY_TOKENS, used({ total_tokens: 2_000 }), "absent"],
  [
    "no usage under the name toString, which every JavaScript object has",
    { ...BY_TOKENS, name: "toString" },
    used({}),
    "absent",
  ],
  ["a duration that is a text", BY_SECONDS, shown({ duration: "5", resolution: "720p" }), "absent"],
  ["0 tokens", BY_TOKENS, tokens(0), "not_positive"],
  ["negative tokens", BY_TOKENS, tokens(-2_000), "not_positive"],
  ["tokens that are not finite", BY_TOKENS, tokens(Infinity), "not_positive"],
  ["tokens that are no number", BY_TOKENS, tokens(NaN), "not_positive"],
  ["no resolution", BY_SECONDS, shown({ duration: 5 }), "no_rate"],
  ["a resolution without a rate", BY_SECONDS, shown({ duration: 5, resolution: "4k" }), "no_rate"],
  [
    "a resolution that is a number, although a rate has its name",
    { ...BY_SECONDS, rate: { "720": 5 } },
    shown({ duration: 5, resolution: 720 }),
    "no_rate",
  ],
  [
    "the resolution constructor, which is a property of every JavaScript object",
    BY_SECONDS,
    shown({ duration: 5, resolution: "constructor" }),
    "no_rate",
  ],
])(
  "a completed task with a price by usage costs all the credits charged for it when its price cannot be computed, because its result has %s",
  (_what, rule, result, unknown) => {
    expect(decidePrice(200, rule, result)).toEqual({
      final: { credits: 200, basis: "hold" },
      unknown,
      missing: 0,
    });
  },
);

it.each([
  ["by one credit", 13_334, 1],
  ["by a thousand credits", 80_000, 1_000],
  ["by more than can be counted", 1e30, Number.MAX_SAFE_INTEGER],
])(
  "when a price by usage is above the charged credits %s, the task costs only the charged credits, and the number of missing credits is stored",
  (_what, count, missing) => {
    expect(decidePrice(200, BY_TOKENS, tokens(count))).toEqual({
      final: { credits: 200, basis: "usage" },
      unknown: null,
      missing,
    });
  },
);

describe("ceilOfProduct", () => {
  it.each([
    [0.1, 3, 0.3, 1n],
    [0.07, 100, 1, 7n],
    [1.1, 1.1, 1.21, 1n],
    [1e-7, 1, 1, 1n],
    [1e21, 1, 1e21, 1n],
    [5e-324, 1, 1, 1n],
    [1.7976931348623157e308, 1, 1e308, 2n],
  ])(
    "ceilOfProduct, which multiplies decimals exactly, returns for %f × %f ÷ %f, rounded up, %i",
    (a, b, divisor, product) => {
      expect(ceilOfProduct(a, b, divisor)).toBe(product);
    },
  );

  it("ceilOfProduct, which multiplies decimals and rounds up once, gives the same as exact computation with whole numbers for random decimals", () => {
    const places = fc.record({
      digits: fc.integer({ min: 1, max: 10 ** 9 }),
      scale: fc.integer({ min: 0, max: 6 }),
    });
    fc.assert(
      fc.property(places, places, places, (a, b, c) => {
        // In units of 10^-12 the dividend is whole, and in the same units so is the divisor.
        const dividend =
          BigInt(a.digits) * BigInt(b.digits) * 10n ** BigInt(12 - a.scale - b.scale);
        const divisor = BigInt(c.digits) * 10n ** BigInt(12 - c.scale);
        const price = ceilOfProduct(valueOf(a), valueOf(b), valueOf(c));
        expect(price * divisor >= dividend && (price - 1n) * divisor < dividend).toBe(true);
      }),
      { numRuns: 2_000, seed: SEED },
    );
  });
});

it("whatever usage a job states, the price is a whole number from the minimum to the number of charged credits", () => {
  const rules = fc.record({
    units: fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
    rate: fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
    min: fc.integer({ min: 0, max: 50 }),
  });
  fc.assert(
    fc.property(rules, fc.double(), fc.integer({ min: 50, max: 1_000 }), (rule, amount, hold) => {
      const { final } = decidePrice(hold, { ...BY_TOKENS, ...rule }, tokens(amount));
      expect(Number.isSafeInteger(final.credits)).toBe(true);
      expect(final.credits).toBeGreaterThanOrEqual(rule.min);
      expect(final.credits).toBeLessThanOrEqual(hold);
    }),
    { numRuns: 2_000, seed: SEED },
  );
});
