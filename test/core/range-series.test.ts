import { expect, it } from "vitest";
import { totalsOf } from "../../src/api/search/range-series.ts";
import { BOUNDS_MS } from "../../src/index-db/buckets.ts";

type Step = Parameters<typeof totalsOf>[0][number];

const NOTHING = BOUNDS_MS.map(() => 0).concat(0);

/**
 * Builds a step with callbacks, and with tasks in the histogram buckets that end at these bounds, in
 * milliseconds.
 */
function aStep(
  callbacks: Partial<Step["callbacks"]>,
  buckets: Record<number, number>,
  failures: Record<string, number>,
): Step {
  const histogram = NOTHING.map((_, at) => buckets[BOUNDS_MS[at] ?? Infinity] ?? 0);
  return {
    at: 0,
    tasks: { total: 10, pending: 0, processing: 0, completed: 10, failed: 0, failures },
    callbacks: {
      waiting: 0,
      sending: 0,
      retrying: 0,
      paused: 0,
      delivered: 0,
      failed: 0,
      attempts: 0,
      outcomes: {},
      ...callbacks,
    },
    latency: { first_attempt: histogram, settled: NOTHING },
    credits: { held: 1, earned: 20, released: 2, refunded: 3 },
    jobs: [],
  };
}

it("the statistics of a time range are the sums of the numbers of its hours; without any ended callback, the success rate is null", () => {
  const steps = [
    aStep(
      { delivered: 6, failed: 1, attempts: 9, outcomes: { delivered: 6, timeout: 2, rejected: 1 } },
      { 5: 6 },
      { timeout: 1 },
    ),
    aStep(
      { delivered: 3, sending: 2, attempts: 6, outcomes: { delivered: 3, rejected: 3 } },
      { 1000: 2 },
      { moderation: 2, timeout: 2 },
    ),
  ];
  expect(totalsOf(steps)).toEqual({
    tasks: 20,
    delivered: 9,
    failed: 1,
    success_rate: 0.9,
    attempts_per_callback: 1.25,
    outcomes: { delivered: 9, timeout: 2, rejected: 4 },
    failures: { timeout: 3, moderation: 2 },
    credits: { held: 2, earned: 40, refunded: 6 },
    first_attempt_ms: { p50: 3, p95: 900, p99: 980 },
  });
  expect(totalsOf([])).toEqual({
    tasks: 0,
    delivered: 0,
    failed: 0,
    success_rate: null,
    attempts_per_callback: null,
    outcomes: {},
    failures: {},
    credits: { held: 0, earned: 0, refunded: 0 },
    first_attempt_ms: null,
  });
});
