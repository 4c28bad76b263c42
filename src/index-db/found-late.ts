import { sum } from "../core/sum.ts";
import { BOUNDS_MS } from "./buckets.ts";
import type { CountRow } from "./count-kinds.ts";

export interface Histogram {
  /**
   * Number of tasks in each latency bucket, in the order of the bounds (`BOUNDS_MS`); the last number is for the tasks
   * above all bounds.
   */
  readonly counts: readonly number[];
  readonly totalMs: number;
}

/**
 * Histogram of the time between the end of the job at one provider and the arrival of its result at the relay. It is
 * for the results that came in one way (`foundBy`): by a hook, by a poll, or by an event that was sent to `POST
 * /v1/events`.
 */
export interface FoundLate {
  /** Name of the connection to the provider; empty for tasks that name none. */
  readonly provider: string;
  readonly foundBy: string;
  readonly histogram: Histogram;
}

/**
 * Returns one histogram for each provider and each way in which its results came (by a hook, by a poll, or by an event
 * that was sent to `POST /v1/events`), sorted by provider and way.
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

/** Returns a histogram from the numbers of tasks in its buckets. A bucket that occurs several times is added up. */
export function histogramOf(
  rows: readonly Pick<CountRow<"latencies">, "bucket" | "tasks" | "totalMs">[],
): Histogram {
  const counts = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0);
  for (const { bucket, tasks } of rows) counts[bucket] = (counts[bucket] ?? 0) + tasks;
  return { counts, totalMs: sum(rows.map(({ totalMs }) => totalMs)) };
}
