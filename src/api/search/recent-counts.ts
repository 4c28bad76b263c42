import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { countedAt } from "../../index-db/index-state.ts";
import { hourlyCounts, type HourlyCounts } from "../../index-db/step-counts.ts";
import type { Shards } from "../../index-db/shards.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";

/** Number of hours that the counts cover: the present hour, and the 24 hours before it. */
const HOURS = 25;
/**
 * Time in milliseconds for which the counts in memory are used before this isolate checks whether the cron trigger
 * has counted again.
 */
const KEEP_MS = 30 * SECOND_MS;
/**
 * Age in milliseconds at which the counts in memory are read again even if the cron trigger has found nothing new to
 * count.
 */
const MAX_AGE_MS = 10 * MINUTE_MS;

/** Counts of the tasks that were created in the present hour and in the 24 hours before it. */
export interface RecentCounts extends HourlyCounts {
  /**
   * Time at which the cron trigger last found something new to count, in Unix milliseconds; null when it never has.
   */
  readonly countedAt: number | null;
}

/** Time at which the cron trigger last found something new to count, as last read from the index. */
const checked = new EnvCache<{ readonly countedAt: number | null }>(() => KEEP_MS);
/** Counts as last read from the index. They are shared by all callers, because only operators may ask for them. */
const cached = new EnvCache<RecentCounts>(() => MAX_AGE_MS);

/**
 * Returns the counts of the tasks created in the present hour and in the 24 hours before it. Because they change only
 * when the cron trigger counts, they are kept in memory until it has counted again, which is checked at most every 30
 * seconds.
 */
export async function recentCounts(env: Env, shards: Shards, now: number): Promise<RecentCounts> {
  const until = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
  const last = await checked.get(env, async () => ({ countedAt: await countedAt(shards) }));
  const window = { since: until - HOURS * HOUR_MS, until };
  const read = async () => ({ ...(await hourlyCounts(shards, window)), ...last });
  return await cached.get(env, read, `${until} ${last.countedAt}`);
}
