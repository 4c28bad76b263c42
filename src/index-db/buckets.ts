import { sum } from "../core/sum.ts";

/**
 * Upper bounds of the buckets of the latency histograms, in milliseconds. One more bucket has the values above the last
 * bound.
 */
export const BOUNDS_MS: readonly number[] = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 180_000, 200_000,
  600_000, 780_000, 800_000, 900_000, 3_600_000,
];

/**
 * Upper bounds of the buckets of the histograms of the times of jobs, in milliseconds. They are closer together than
 * `BOUNDS_MS` where jobs end, from a second to some minutes. One more bucket has the values above the last bound.
 */
export const JOB_BOUNDS_MS: readonly number[] = [
  1_000, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 90_000,
  120_000, 180_000, 240_000, 300_000, 420_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000,
];

/**
 * The latency histograms. Each has its name, and the SQL expression that computes a value in milliseconds from the row
 * of a task.
 */
export const MEASURES = [
  ["first_attempt", "first_attempt_ms"],
  ["settled", "settled_ms"],
  ["index", "CASE WHEN settled_at IS NOT NULL THEN max(0, indexed_at - version) END"],
] as const;

export type Measure = (typeof MEASURES)[number][0];

/**
 * Builds the SQL expression for the number of the latency bucket to which a value belongs. The expression is NULL when
 * the value is NULL.
 * @param value SQL expression of the value, in milliseconds.
 * @param bounds upper bounds of the buckets, in milliseconds.
 */
export function bucketOf(value: string, bounds = BOUNDS_MS): string {
  const cases = bounds.map((bound, index) => `WHEN ${value} <= ${bound} THEN ${index}`);
  return `CASE ${cases.join(" ")} WHEN ${value} IS NOT NULL THEN ${bounds.length} END`;
}

/** Adds up histograms bucket by bucket. */
export function addUp(histograms: readonly (readonly number[])[]): readonly number[] {
  const buckets = Math.max(0, ...histograms.map(({ length }) => length));
  return Array.from({ length: buckets }, (_, bucket) =>
    sum(histograms.map((counts) => counts[bucket] ?? 0)),
  );
}

/**
 * Estimates a quantile of a latency histogram, in milliseconds, by interpolating within the bucket; a value
 * above the last bound counts as that bound.
 * @param counts number of values in each bucket.
 * @param q quantile, from 0 to 1.
 * @param bounds upper bounds of the buckets, in milliseconds.
 * @returns null when the histogram is empty.
 */
export function quantile(counts: readonly number[], q: number, bounds = BOUNDS_MS): number | null {
  const total = sum(counts);
  if (total === 0) return null;
  const rank = q * total;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const from = bounds[bucket - 1] ?? 0;
      const to = bounds[bucket] ?? from;
      return Math.round(from + (to - from) * Math.max(0, (rank - below) / count));
    }
    below += count;
  }
  return bounds.at(-1) ?? null;
}

/**
 * Estimates three quantiles of a latency histogram, in milliseconds: 50 % (the median), 95 % and 99 %. They are
 * null when the histogram is empty.
 */
export function quantiles(counts: readonly number[]) {
  return { p50: quantile(counts, 0.5), p95: quantile(counts, 0.95), p99: quantile(counts, 0.99) };
}
