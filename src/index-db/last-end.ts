import type { TimeBudget } from "../lib/time-budget.ts";
import { onSchema } from "./database.ts";
import { latest } from "./each-shard.ts";
import type { IndexDatabase } from "./index-database.ts";

/**
 * Largest number of rows that are read in one database to find the end of a task which no count covers yet. Only the
 * newest tasks are read, back to the first hour whose rows have changed.
 */
const MAX_ROWS = 10_000;

/**
 * SQL query for the time of the latest count that found newly ended tasks (`countedEndAt`), and of the latest count
 * that found anything new. If `countedEndAt` is not after `?1`, the query also returns the latest end of a task among
 * the rows that are not counted yet (`uncountedEndAt`), and how many of these rows were read.
 */
const LAST_END = `
  WITH counted AS (
    SELECT max(iif(name LIKE 'ended.%', advanced_at, NULL)) AS countedEndAt, max(advanced_at) AS countedAt
    FROM totals
  ), uncounted AS (
    SELECT finished_at FROM index_rows WHERE created_at >= (SELECT min(hour) FROM hours_to_count)
    ORDER BY created_at DESC, id DESC
    LIMIT iif((SELECT countedEndAt FROM counted) > ?1, 0, ${MAX_ROWS})
  )
  SELECT * FROM counted, (
    SELECT max(finished_at) AS uncountedEndAt, count(*) AS readRows FROM uncounted
  )`;

interface Row {
  readonly countedEndAt: number | null;
  readonly countedAt: number | null;
  readonly uncountedEndAt: number | null;
  readonly readRows: number;
}

/**
 * Time at which a task of the relay last ended, as far as the databases of the index show. Times are in Unix
 * milliseconds.
 */
export interface LastEnd {
  /** Latest time at which a task is known to have ended, in Unix milliseconds; null when none has ended. */
  readonly at: number | null;
  /**
   * Time up to which it is known that no further task has ended after `at`. If a database has more uncounted rows than
   * may be read, it is the time of this database's latest count.
   */
  readonly until: number;
  /**
   * Number of databases that were not asked, because the budget was too small. 0 when a database that was asked shows a
   * recent end of a task.
   */
  readonly skipped: number;
}

/**
 * Finds the latest time at which a task is known to have ended. The databases are asked one after another, with one
 * query each, until one of them shows an end less than `silenceMs` ago.
 * @param databases those with the newest tasks first.
 * @param now current time, in Unix milliseconds.
 */
export async function lastEnd(
  databases: readonly IndexDatabase[],
  now: number,
  silenceMs: number,
  budget: TimeBudget,
): Promise<LastEnd> {
  const since = now - silenceMs;
  let at: number | null = null;
  let until = now;
  for (const [index, db] of databases.entries()) {
    if (!budget.take(1)) return { at, until, skipped: databases.length - index };
    const { results } = await onSchema(db, (database) =>
      database.prepare(LAST_END).bind(since).all<Row>(),
    );
    const [row] = results;
    if (row === undefined) throw new Error("D1 gave no answer to a query");
    at = latest([at, row.countedEndAt, row.uncountedEndAt]);
    if (at !== null && at > since) return { at, until: now, skipped: 0 };
    if (row.readRows === MAX_ROWS) until = Math.min(until, row.countedAt ?? 0);
  }
  return { at, until, skipped: 0 };
}
