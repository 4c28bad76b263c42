import { ready, READY_QUERIES } from "./database.ts";
import { latest } from "./each-shard.ts";

/** Largest number of queries that `lastEndAt` makes in one database. */
export const LAST_END_QUERIES = READY_QUERIES + 2;

/**
 * Largest number of rows that are read in one database to find an end that is not counted yet: of the newest
 * tasks since the first hour whose rows have changed.
 */
const MAX_ROWS = 10_000;

const LAST_COUNTED = "SELECT max(advanced_at) AS at FROM totals WHERE name LIKE 'ended.%'";
const LAST_UNCOUNTED = `
  SELECT max(finished_at) AS at FROM (
    SELECT finished_at FROM tasks WHERE created_at >= (SELECT min(hour) FROM dirty_hours)
    ORDER BY created_at DESC, id DESC LIMIT ${MAX_ROWS}
  )`;

/**
 * Returns when tasks were last seen to end, in Unix milliseconds, in all databases of the index; null when none
 * has ended. That is the time of the latest count that found further ended tasks. Only when it lies before
 * `since`, rows that are not counted yet are read.
 * @param since time in Unix milliseconds; whether tasks have ended earlier does not matter to the caller.
 */
export async function lastEndAt(
  databases: readonly D1Database[],
  since: number,
): Promise<number | null> {
  const counted = await latestOf(databases, LAST_COUNTED);
  if (counted !== null && counted > since) return counted;
  const uncounted = await latestOf(databases, LAST_UNCOUNTED);
  return latest([counted, uncounted]);
}

async function latestOf(databases: readonly D1Database[], sql: string): Promise<number | null> {
  const found = await Promise.all(
    databases.map(async (db) =>
      (await ready(db)).prepare(sql).first<{ readonly at: number | null }>(),
    ),
  );
  return latest(found.map((row) => row?.at ?? null));
}
