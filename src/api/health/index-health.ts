import type { Config } from "../../config/config.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { quantiles } from "../../index-db/buckets.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { readIndexState } from "../../index-db/index-state.ts";
import type { Shards } from "../../index-db/shards.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import { withTimeout } from "../../lib/timeout.ts";

/**
 * Time in milliseconds for which the state of the index is kept in memory. Monitors may ask for it every few seconds.
 */
const KEEP_MS = 30 * SECOND_MS;

/** State of the index as it was last read. It is shared by all callers, because only operators may ask for it. */
const recent = new EnvCache<Awaited<ReturnType<typeof viewOf>>>(() => KEEP_MS);

/**
 * Returns the state of the index for `/healthz`: whether its databases answer, when their tasks were last counted, how
 * late rows arrive, and the size of the largest database. The state is up to 30 seconds old, and reading it costs less
 * than 60 rows of each database.
 * @returns null when the relay has no index.
 */
export async function indexStateOf(config: Config, env: Env) {
  const shards = shardsOf(env, config);
  if (shards === null) return null;
  return await recent.get(env, (now) => viewOf(shards, now));
}

async function viewOf(shards: Shards, now: number) {
  const read = () => readIndexState(shards, now);
  const state = await withTimeout("index", read, null, INDEX_TIMEOUT_MS);
  const countedAt = state?.countedAt ?? null;
  return {
    databases: shards.databases.length,
    is_reachable: state !== null,
    counted_at: countedAt === null ? null : toSeconds(countedAt),
    lag_ms: quantiles(state?.lags ?? []),
    size_bytes: state?.sizeBytes ?? null,
  };
}
