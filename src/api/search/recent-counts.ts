import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { countedAt, hourlyCounts, type HourlyCounts } from "../../index-db/hourly-counts.ts";
import type { Shards } from "../../index-db/shards.ts";
import { EnvCache } from "../../isolate-cache.ts";

/** Number of hours that the counts cover: the one that has begun, and the 24 before it. */
const HOURS = 25;
/**
 * Time in milliseconds for which the cached counts are used without checking whether the cron trigger has
 * counted again.
 */
const KEEP_MS = 30 * SECOND_MS;
/**
 * Age in milliseconds from which the cached counts are read again even if the cron trigger has found nothing
 * new to count since.
 */
const MAX_AGE_MS = 10 * MINUTE_MS;

/** Counts of the tasks of the last 24 hours and of the hour that has begun. */
export interface RecentCounts extends HourlyCounts {
  /**
   * Time at which the cron trigger last found something new to count, in Unix milliseconds; null when it
   * never has.
   */
  readonly countedAt: number | null;
}

/**
 * Time of the last count by the cron trigger, and the counts, as they were last read from the index. All callers
 * may get the same ones, because only operators may ask.
 */
const checked = new EnvCache<{ readonly countedAt: number | null }>(() => KEEP_MS);
const cached = new EnvCache<RecentCounts>(() => MAX_AGE_MS);

/**
 * Returns the counts of the last 24 hours. They are kept in memory and read again when the cron trigger has
 * counted, because they change only then. At most every 30 seconds it is checked whether the cron trigger has
 * counted.
 */
export async function recentCounts(env: Env, shards: Shards, now: number): Promise<RecentCounts> {
  const until = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
  const last = await checked.get(env, async () => ({ countedAt: await countedAt(shards) }));
  const window = { since: until - HOURS * HOUR_MS, until };
  const read = async () => ({ ...(await hourlyCounts(shards, window)), ...last });
  return cached.get(env, read, `${until} ${last.countedAt}`);
}
