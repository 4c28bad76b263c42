import { BOUNDS_MS } from "./buckets.ts";
import type { CountRow } from "./count-kinds.ts";

export interface Histogram {
  /**
   * Number of tasks in each latency bucket, in the order of the bounds (`BOUNDS_MS`); the last number is that
   * of the tasks above all bounds.
   */
  readonly counts: readonly number[];
  readonly totalMs: number;
}

/**
 * Histogram of the time between the end of the job at a provider and the arrival of its result at the relay, for the
 * results that came in one way (`foundBy`: by a hook, by a poll, or by an event that was sent to `POST /v1/events`).
 */
export interface FoundLate {
  /** Name of the configured connection to a provider; empty for tasks that name none. */
  readonly provider: string;
  readonly foundBy: string;
  readonly histogram: Histogram;
}

/**
 * Builds one histogram for each pair of a provider and a way in which results came (by a hook, by a poll, or by an
 * event that was sent to `POST /v1/events`), sorted by both.
 */
export function foundLateOf(rows: readonly CountRow<"found_late">[]): readonly FoundLate[] {
  const groups = Map.groupBy(rows, ({ provider, foundBy }) => JSON.stringify([provider, foundBy]));
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, group]) => {
      const [first] = group;
      if (first === undefined) return [];
      const { provider, foundBy } = first;
      return [{ provider, foundBy, histogram: histogramOf(group) }];
    });
}

/** Builds a histogram from the numbers of tasks in its buckets; a bucket may occur several times. */
export function histogramOf(
  rows: readonly Pick<CountRow<"latencies">, "bucket" | "tasks" | "totalMs">[],
): Histogram {
  const counts = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0);
  for (const { bucket, tasks } of rows) counts[bucket] = (counts[bucket] ?? 0) + tasks;
  return { counts, totalMs: rows.reduce((sum, { totalMs }) => sum + totalMs, 0) };
}
