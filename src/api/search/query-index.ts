import type { Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { EarlierBuildError, QUERY_TIMEOUT_MS } from "../../index-db/database.ts";
import type { Shards } from "../../index-db/shards.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { Problem } from "../http/problem.ts";
import { storedByEarlierBuild, unavailable } from "../http/object-call.ts";

/** Returns the databases of the index. @throws Problem `index_disabled` when the relay has no index. */
export function requireIndex(env: Env, { config }: Runtime): Shards {
  const shards = shardsOf(env, config);
  if (shards !== null) return shards;
  const detail =
    "No D1 database is bound as INDEX_DB, and no object as INDEX_OBJECT. Only lists, statistics and bulk operations need the index.";
  throw new Problem("index_disabled", { detail });
}

/**
 * Runs a query on the index.
 * @throws Problem `stored_by_earlier_build` when a build before 1.0.0 has stored the index; `unavailable` when the
 * query fails or takes longer than 10 seconds.
 */
export async function queryIndex<T>(query: () => Promise<T>): Promise<T> {
  const wrapped = async () => {
    try {
      return { value: await query() };
    } catch (error) {
      if (error instanceof EarlierBuildError) return error;
      throw error;
    }
  };
  const answer = await withTimeout("index", wrapped, null, QUERY_TIMEOUT_MS);
  if (answer instanceof EarlierBuildError) throw storedByEarlierBuild("the index");
  if (answer !== null) return answer.value;
  throw unavailable("The index could not be reached.");
}
