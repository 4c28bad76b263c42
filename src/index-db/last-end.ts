import type { TimeBudget } from "../time-budget.ts";
import { onSchema } from "./database.ts";
import { latest } from "./each-shard.ts";

/**
 * Largest number of rows that are read in one database to find an end that is not counted yet: of the newest
 * tasks since the first hour whose rows have changed.
 */
const MAX_ROWS = 10_000;

/**
 * Query for the time of the latest count that found further ended tasks. Only where it does not lie after `?1`,
 * also for the latest end in rows that are not counted yet.
 */
const LAST_END = `
  WITH counted AS (SELECT max(advanced_at) AS at FROM totals WHERE name LIKE 'ended.%'),
  uncounted AS (
    SELECT finished_at FROM tasks WHERE created_at >= (SELECT min(hour) FROM dirty_hours)
    ORDER BY created_at DESC, id DESC
    LIMIT iif((SELECT at FROM counted) > ?1, 0, ${MAX_ROWS})
  )
  SELECT counted.at AS countedAt, (SELECT max(finished_at) FROM uncounted) AS finishedAt FROM counted`;

interface Row extends Record<string, unknown> {
  readonly countedAt: number | null;
  readonly finishedAt: number | null;
}

/** What several databases of the index show of the last end of a task. */
export interface LastEnd {
  /** Time at which tasks were last seen to end, in Unix milliseconds; null when none has ended. */
  readonly at: number | null;
  /** Number of databases that were not asked although none before them shows an end late enough. */
  readonly skipped: number;
}

/**
 * Finds out when tasks were last seen to end. The databases are asked one after another, with one query each, until
 * one of them shows an end after `since`.
 * @param databases those with the newest tasks first.
 * @param since time in Unix milliseconds; whether tasks have ended earlier does not matter to the caller.
 */
export async function lastEnd(
  databases: readonly D1Database[],
  since: number,
  budget: TimeBudget,
): Promise<LastEnd> {
  let at: number | null = null;
  for (const [index, db] of databases.entries()) {
    if (!budget.take(1)) return { at, skipped: databases.length - index };
    const row = await onSchema(db, (database) =>
      database.prepare(LAST_END).bind(since).first<Row>(),
    );
    at = latest([at, row?.countedAt ?? null, row?.finishedAt ?? null]);
    if (at !== null && at > since) break;
  }
  return { at, skipped: 0 };
}
