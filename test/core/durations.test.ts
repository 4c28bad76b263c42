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

/** The durations of `count` jobs whose quantiles lie evenly between two durations. */
function evenly(count: number, minMs: number, maxMs: number): readonly number[] {
  return Array.from(
    { length: count },
    (_, index) => minMs + ((maxMs - minMs) * (index + 0.5)) / count,
  );
}

describe("a histogram of durations", () => {
  it("a histogram of fewer than ten jobs names no likely age, and one of ten names ten", () => {
    const ages = [9, 10].map((count) => likelyAges(histogram(evenly(count, MINUTE, 2 * MINUTE))));
    expect(ages.map(({ length }) => length)).toEqual([0, 10]);
  });

  it("the likely ages of a histogram are the quantiles from 8 % to 95 % of its jobs, to the width of a bin", () => {
    const ages = likelyAges(histogram(evenly(180, 100 * SECOND, 200 * SECOND)));
    const exact = Array.from({ length: 10 }, (_, i) => 100_000 * (1.08 + (i * 0.87) / 9));
    const off = ages.map((age, index) => Math.abs(Math.log(age / (exact[index] ?? NaN))));
    expect(Math.max(...off)).toBeLessThan(Math.log(1.1));
  });

  it("jobs that a poll found in a range lie evenly in it, so that not all likely ages are the time of the poll", () => {
    const found = Array.from({ length: 100 }, () => ({ minMs: 40 * SECOND, maxMs: 80 * SECOND }));
    const ages = likelyAges(found.reduce(addDuration, NO_DURATIONS));
    expect(ages[0]).toBeLessThan(45 * SECOND);
    expect(ages[4]).toBeLessThan(60 * SECOND);
  });

  it("a histogram follows an upstream that has become four times slower after 400 further jobs", () => {
    const slow = histogram([...evenly(400, 25_000, 30_000), ...evenly(400, 100_000, 120_000)]);
    expect(likelyAges(slow)[3]).toBeGreaterThan(95_000);
  });

  it.each<[string, number, number]>([
    ["NaN", NaN, NaN],
    ["a year", 365 * DAY, 365 * DAY],
    ["infinite", Infinity, Infinity],
    ["a range that ends before it begins", 2 * MINUTE, MINUTE],
  ])("a duration that is %s changes no histogram", (_, minMs, maxMs) => {
    expect(addDuration(NO_DURATIONS, { minMs, maxMs })).toBe(NO_DURATIONS);
  });

  it.each([
    ["negative", -DAY],
    ["zero", 0],
    ["half a second", 500],
  ])("a duration that is %s counts as one of a second", (_, ms) => {
    expect(histogram([ms])).toEqual(histogram([SECOND]));
  });

  it("whatever is added to a histogram, it stays below 200 jobs and 132 bins, and its likely ages ascend from one second to three days", () => {
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
