import type { Config } from "../../config/config.ts";
import { SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { quantiles } from "../../index-db/buckets.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { readIndexState } from "../../index-db/index-state.ts";
import { type Shards, shardsOf } from "../../index-db/shards.ts";
import { withTimeout } from "../../timeout.ts";

/** Time in milliseconds for which the state is kept in memory, because monitors ask for it every few seconds. */
const KEEP_MS = 30 * SECOND_MS;

interface Known {
  readonly view: Awaited<ReturnType<typeof viewOf>>;
  /** Time of the answer of the index, in Unix milliseconds. */
  readonly at: number;
}

/**
 * States that were read last, one for each `env` object of the Worker. All callers may get the same one,
 * because only operators may ask.
 */
const cached = new WeakMap<Env, Known>();

/**
 * Returns the state of the index, for `/healthz`: whether its databases answer, when their tasks were last
 * counted, how late rows arrive, and the size. It is up to 30 seconds old, and costs less than 60 rows of each
 * database. Null when no index is bound.
 */
export async function indexStateOf(config: Config, env: Env) {
  const shards = shardsOf(env, config);
  if (shards === null) return null;
  const now = Date.now();
  const known = cached.get(env);
  if (known !== undefined && now < known.at + KEEP_MS) return known.view;
  const view = await viewOf(shards, now);
  cached.set(env, { view, at: now });
  return view;
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
