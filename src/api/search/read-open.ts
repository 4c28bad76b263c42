import type { Config } from "../../config/config.ts";
import { MINUTE_MS, SECOND_MS, toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { openPerConnection } from "../../index-db/open-per-connection.ts";
import { shardsOf } from "../../index-db/shards.ts";
import { queryIndex } from "./query-index.ts";

/**
 * Largest number of unsettled tasks (without a result, or with a callback or refund still under way) among
 * which the open ones are counted; D1 bills two rows for each.
 */
const MAX_TASKS = 2_000;
/**
 * Shortest time in milliseconds for which the answer is kept in memory. One that has cost more rows is kept
 * longer: for a minute for each 1,000 rows, because a page that stays open asks for it every minute.
 */
const LEAST_KEEP_MS = 10 * SECOND_MS;
const KEEP_MS_PER_ROW = MINUTE_MS / 1_000;

interface Known {
  readonly view: ReturnType<typeof viewOf>;
  /** Time until which the answer is kept, in Unix milliseconds. */
  readonly until: number;
}

/**
 * Numbers that were counted last, one set for each `env` object of the Worker. All callers may get the same
 * ones, because only operators may ask.
 */
const cached = new WeakMap<Env, Known>();

/**
 * Returns how many tasks of each connection to a provider are open (have no result), and when they were
 * counted; null when no index is bound.
 */
export async function openTasks(env: Env, config: Config) {
  const shards = shardsOf(env, config);
  if (shards === null) return null;
  const now = Date.now();
  const known = cached.get(env);
  if (known !== undefined && now < known.until) return known.view;
  const found = await queryIndex(() => openPerConnection(shards, MAX_TASKS));
  const view = viewOf(found, now);
  const keptMs = Math.max(LEAST_KEEP_MS, found.rowsRead * KEEP_MS_PER_ROW);
  cached.set(env, { view, until: now + keptMs });
  return view;
}

function viewOf(
  { connections, isCapped }: Awaited<ReturnType<typeof openPerConnection>>,
  now: number,
) {
  return { at: toSeconds(now), is_capped: isCapped, connections };
}
