import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDuration,
  type Durations,
  likelyAges,
  NO_DURATIONS,
  weightOf,
} from "../../src/core/record/durations.ts";
import { DAY, HOUR, MINUTE, SECOND } from "./builders.ts";

const SEED = 20_261_122;

function histogram(endsMs: readonly number[]): Durations {
  return endsMs.reduce((all, ms) => addDuration(all, { minMs: ms, maxMs: ms }), NO_DURATIONS);
}

/** Returns the durations of `count` jobs, spread evenly between two durations. */
function evenly(count: number, minMs: number, maxMs: number): readonly number[] {
  return Array.from(
    { length: count },
    (_, index) => minMs + ((maxMs - minMs) * (index + 0.5)) / count,
  );
}

describe("a histogram of durations", () => {
  it("likelyAges, which names the ages by which a job has probably ended, returns none after 9 known jobs, and ten ages after 10", () => {
    const ages = [9, 10].map((count) => likelyAges(histogram(evenly(count, MINUTE, 2 * MINUTE))));
    expect(ages.map(({ length }) => length)).toEqual([0, 10]);
  });

  it("likelyAges returns the ages by which 8 % to 95 % of the jobs in a histogram of durations had ended, exact to 10 %, the width of a bin", () => {
    const ages = likelyAges(histogram(evenly(180, 100 * SECOND, 200 * SECOND)));
    const exact = Array.from({ length: 10 }, (_, i) => 100_000 * (1.08 + (i * 0.87) / 9));
    const off = ages.map((age, index) => Math.abs(Math.log(age / (exact[index] ?? NaN))));
    expect(Math.max(...off)).toBeLessThan(Math.log(1.1));
  });

  it("jobs that ended at an unknown time between the ages of 40 s and 80 s count in the histogram as evenly spread over this range", () => {
    const found = Array.from({ length: 100 }, () => ({ minMs: 40 * SECOND, maxMs: 80 * SECOND }));
    const ages = likelyAges(found.reduce(addDuration, NO_DURATIONS));
    expect(ages[0]).toBeLessThan(45 * SECOND);
    expect(ages[4]).toBeLessThan(60 * SECOND);
  });

  it("likelyAges counts older jobs less: after 400 jobs of at most 30 s and 400 of at least 100 s, 37 % are expected to end above 95 s", () => {
    const slow = histogram([...evenly(400, 25_000, 30_000), ...evenly(400, 100_000, 120_000)]);
    expect(likelyAges(slow)[3]).toBeGreaterThan(95_000);
  });

  it.each<[string, readonly number[], number, Durations]>([
    [
      "whose weights add up to 199 halves all weights",
      [199],
      1_000,
      { firstBin: 0, weights: [100] },
    ],
    ["whose weights add up to 198 halves no weight", [198], 1_000, { firstBin: 0, weights: [199] }],
    [
      "whose weights add up to 199 halves them, and removes a bin that then has less than 0.01",
      [0.018, 0.02, 199],
      1_250,
      { firstBin: 1, weights: [0.01, 100] },
    ],
    [
      "that is empty counts a job of 72 hours, the longest duration that is not taken for a fault of a clock",
      [],
      72 * HOUR,
      { firstBin: 130, weights: [1] },
    ],
  ])("adding a job to a histogram of durations %s", (_, weights, ms, expected) => {
    expect(addDuration({ firstBin: 0, weights }, { minMs: ms, maxMs: ms })).toEqual(expected);
  });

  it("the age by which likelyAges expects 8 % of the jobs to end is the end of a bin when the bins up to it have exactly 8 % of the histogram's weight", () => {
    expect(likelyAges({ firstBin: 0, weights: [1, 0, 11.5] })[0]).toBe(1_100);
  });

  it("likelyAges returns ages for ten jobs even when rounding makes their weights in the histogram add up to only 9.5", () => {
    expect(likelyAges({ firstBin: 0, weights: [9.5] })).toHaveLength(10);
  });

  it.each<[string, number, number]>([
    ["that is NaN", NaN, NaN],
    ["of a year", 365 * DAY, 365 * DAY],
    ["that is infinite", Infinity, Infinity],
    ["given as a range that ends before it begins", 2 * MINUTE, MINUTE],
  ])("a job duration %s is not added to the histogram of durations", (_, minMs, maxMs) => {
    expect(addDuration(NO_DURATIONS, { minMs, maxMs })).toBe(NO_DURATIONS);
  });

  it.each([
    ["that is negative", -DAY],
    ["of zero", 0],
    ["of half a second", 500],
  ])("a job duration %s is added to the histogram of durations as one second", (_, ms) => {
    expect(histogram([ms])).toEqual(histogram([SECOND]));
  });

  it("any durations give at most 132 bins, a total weight below 201, and likely ages that ascend between one second and 80 hours", () => {
    const anyMs = fc.oneof(
      fc.integer({ min: 0, max: 80 * HOUR }),
      fc.integer({ min: 0, max: 5 * MINUTE }),
      fc.double(),
    );
    const ranges = fc.array(fc.record({ minMs: anyMs, maxMs: anyMs }), { maxLength: 600 });
    fc.assert(
      fc.property(ranges, (each) => {
        const durations = each.reduce(addDuration, NO_DURATIONS);
        const ages = likelyAges(durations);
        expect(weightOf(durations)).toBeLessThan(201);
        expect(durations.weights.length).toBeLessThanOrEqual(132);
        expect(ages).toEqual(ages.toSorted((a, b) => a - b));
        expect(ages.every((age) => age >= SECOND && age < 80 * HOUR)).toBe(true);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});
