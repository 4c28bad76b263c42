import { recentCounts } from "../api/search/recent-counts.ts";
import { series } from "../api/search/read-series.ts";
import type { Env } from "../env.ts";
import type { Shards } from "../index-db/shards.ts";
import type { Series } from "./overview.ts";

/** A time range that the overview can show. */
export interface Range {
  /** Name of the range: `24 h`. */
  readonly title: string;
  /** Length of its steps in seconds, by the name that the API gives it. */
  readonly step: "3600" | "86400";
  /** Number of its steps; the last has begun. */
  readonly steps: number;
}

interface Kept {
  readonly counts: Series;
  /** Time of the count that the series shows, in Unix milliseconds; null before the first. */
  readonly countedAt: number | null;
}

/** Series that were read last, by their range, for each environment of the Worker; only operators get them. */
const kept = new WeakMap<Env, Map<Range, Kept>>();

/**
 * Reads the series of a range that ends with the step that has begun. It is kept in memory and read again when
 * the cron trigger has counted or a step has begun, because a long range may have many rows.
 */
export async function keptSeries(env: Env, shards: Shards, range: Range): Promise<Series> {
  const { countedAt } = await recentCounts(env, shards, Date.now());
  const stepS = Number(range.step);
  const until = Math.ceil((Math.floor(Date.now() / 1000) + 1) / stepS) * stepS;
  const known = kept.get(env)?.get(range);
  if (known?.counts.until === until && known.countedAt === countedAt) return known.counts;
  const since = until - range.steps * stepS;
  const counts = await series(env, shards, { step: range.step, since, until });
  const ofEnv = kept.get(env) ?? new Map<Range, Kept>();
  kept.set(env, ofEnv.set(range, { counts, countedAt }));
  return counts;
}
