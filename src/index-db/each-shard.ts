import pMap from "p-map";
import { nearest, onSchema } from "./database.ts";
import type { IndexDatabase, IndexSession } from "./index-database.ts";
import type { Shards } from "./shards.ts";

/** Largest number of databases that are asked at the same time. */
const CONCURRENCY = 6;

/** Asks each of these databases, and returns the answers in their order. */
export function inEach<T>(
  databases: readonly IndexDatabase[],
  ask: (db: IndexDatabase) => Promise<T>,
): Promise<readonly T[]> {
  return pMap(databases, ask, { concurrency: CONCURRENCY });
}

/** Runs the same query on all databases of the index; each answers from its nearest replica. */
export function readEach<T>(
  { databases }: Shards,
  read: (database: IndexSession) => Promise<T>,
): Promise<readonly T[]> {
  return inEach(databases, (db) => onSchema(db, () => read(nearest(db))));
}

/** Returns how many rows a search may read in each database of the index, when it may read `limit` rows in all. */
export function shareOf(limit: number, { databases }: Shards): number {
  return Math.ceil(limit / databases.length);
}

/**
 * Returns the earliest of the times that several databases have returned; null when none of them has returned a time.
 */
export function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** Returns the latest of the times that several databases have returned; null when none of them has returned a time. */
export function latest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.max(...known);
}
