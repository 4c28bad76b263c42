import { recentCounts } from "../../api/search/recent-counts.ts";
import { series } from "../../api/search/read-series.ts";
import type { Env } from "../../env.ts";
import type { Shards } from "../../index-db/shards.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import type { Series } from "./series.ts";

/** A time range that the overview can show. */
export interface Range {
  /** Name of the range, e.g. `24 h`. */
  readonly title: string;
  /**
   * Length of the steps (hours or days) into which the range is divided, in seconds. It has the form of the API's
   * parameter `step`.
   */
  readonly step: "3600" | "86400";
  /** Number of hours or days in the range. The last one is the present hour or day. */
  readonly steps: number;
}

/** Number of time ranges whose counts are kept in memory. */
const MAX_RANGES = 3;
/**
 * Counts of tasks and callbacks by hour or day that the overview has read last, for each time range. They include the
 * tasks of all accounts, so only operators may see them.
 */
const kept = new EnvCache<Series>(() => Infinity, MAX_RANGES);

/**
 * Returns the counts of a time range by hour or day, up to the end of the present hour or day. The counts are kept in
 * memory, because a long range may have many rows in the index. They are read again after the cron trigger has
 * counted, and when a new hour or day begins.
 */
export async function keptSeries(env: Env, shards: Shards, range: Range): Promise<Series> {
  const { countedAt } = await recentCounts(env, shards, Date.now());
  const { step } = range;
  const stepS = Number(step);
  const until = Math.ceil((Math.floor(Date.now() / 1000) + 1) / stepS) * stepS;
  const since = until - range.steps * stepS;
  const read = () => series(env, shards, { step, since, until });
  return kept.get(env, read, `${step} ${since} ${until} ${countedAt}`);
}
