import { ratio } from "../../api/search/count-views.ts";
import { BOUNDS_MS, quantile } from "../../index-db/buckets.ts";
import type { Step } from "./series.ts";

/** An outcome, or a category of failures, with the number of its occurrences. */
export type CountOf = readonly [name: string, number: number];

/** Sums and latencies over all hours or days of a time range. */
export interface Totals {
  readonly tasks: number;
  readonly delivered: number;
  readonly failed: number;
  /** Share of the callbacks delivered or failed that were delivered; null when there are none. */
  readonly successRate: number | null;
  readonly attemptsEach: number | null;
  /** Number of failed attempts for each outcome, the most frequent outcome first. */
  readonly failedAttempts: readonly CountOf[];
  /** Number of failed tasks for each category of the failure, the most frequent category first. */
  readonly failures: readonly CountOf[];
  /**
   * Percentiles of the time from the accepted result to the start of the first attempt, in milliseconds; null when
   * none is known.
   */
  readonly firstAttempt: {
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
  } | null;
}

/** Returns the sums and latencies over all hours or days of a time range. */
export function totalsOf(steps: readonly Step[]): Totals {
  const sum = (of: (step: Step) => number) => steps.reduce((total, step) => total + of(step), 0);
  const delivered = sum(({ callbacks }) => callbacks.delivered);
  const failed = sum(({ callbacks }) => callbacks.failed);
  const attempts = sum(({ callbacks }) => callbacks.attempts);
  const ended = sum(({ callbacks }) => callbacks.delivered + callbacks.failed + callbacks.sending);
  const histogram = addUp(steps.map(({ latency }) => latency.first_attempt));
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => quantile(histogram, q));
  return {
    tasks: sum(({ tasks }) => tasks.total),
    delivered,
    failed,
    successRate: ratio(delivered, delivered + failed),
    attemptsEach: ended === 0 ? null : attempts / ended,
    failedAttempts: mostFirst(steps.map(({ callbacks }) => callbacks.outcomes)).filter(
      ([outcome]) => outcome !== "delivered",
    ),
    failures: mostFirst(steps.map(({ tasks }) => tasks.failures)),
    firstAttempt: p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 },
  };
}

/** Adds up the numbers of each name. @returns the names with their sums, the largest sum first. */
export function mostFirst(parts: readonly Readonly<Record<string, number>>[]): readonly CountOf[] {
  const groups = Map.groupBy(parts.flatMap(Object.entries<number>), ([name]) => name);
  return [...groups]
    .map(([name, group]) => [name, group.reduce((sum, [, each]) => sum + each, 0)] as const)
    .toSorted(([, a], [, b]) => b - a);
}

function addUp(histograms: readonly (readonly number[])[]): readonly number[] {
  return BOUNDS_MS.concat(Infinity).map((_, bucket) =>
    histograms.reduce((sum, histogram) => sum + (histogram[bucket] ?? 0), 0),
  );
}
