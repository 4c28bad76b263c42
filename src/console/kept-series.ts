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
  /** Number of its steps, of which the last is the present one. */
  readonly steps: number;
}

interface Kept {
  readonly counts: Series;
  /** Time in Unix milliseconds of the hourly count that the series is read from; null before the first count. */
  readonly countedAt: number | null;
}

/** Latest series of each range, kept for each `env` object of the Worker. Only operators are shown them. */
const kept = new WeakMap<Env, Map<Range, Kept>>();

/**
 * Reads the series of a range up to the end of the present step. The series is kept in memory, because a long
 * range may have many rows. It is read again after the cron trigger has counted, and when a new step begins.
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
