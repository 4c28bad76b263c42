import { DAY_MS, HOUR_MS } from "../core/time.ts";
import { sum } from "../core/sum.ts";
import { earliest, readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";

/**
 * Tasks without a result whose submission has an unknown outcome: the upstream may have started the job, but no answer
 * and no hook has named it.
 */
export interface UnknownSubmissions {
  readonly tasks: number;
  /**
   * True when the search for tasks with an unknown submission has reached its limit, so that there may be more of them.
   */
  readonly isCapped: boolean;
  /**
   * Creation time of the oldest open task whose submission has an unknown outcome, in Unix milliseconds; null when
   * there is no such task.
   */
  readonly oldestAt: number | null;
  /** Id of the oldest open task whose submission has an unknown outcome; null when there is no such task. */
  readonly oldestId: string | null;
}

/** Result of the query `UNKNOWN`. `oldestId` has a meaning only if `oldestAt` is not null. */
export interface UnknownRow {
  readonly searched: number;
  readonly tasks: number;
  readonly oldestAt: number | null;
  readonly oldestId: string | null;
}

/**
 * Largest age in milliseconds of the tasks that are searched. A task with an unknown submission fails at most a day
 * after its submission (the longest `SUBMIT_UNKNOWN_MINUTES`). Older entries of the database index therefore belong to
 * tasks that have failed.
 */
const SEARCHED_MS = DAY_MS + HOUR_MS;

/**
 * SQL query that counts the open tasks among the newest `?2` tasks whose submission has an unknown outcome, created at
 * `?1` or later. It reads only entries of the database index `tasks_submit_unknown`. The id in the result is that of
 * the oldest counted task.
 */
export const UNKNOWN = `
  SELECT coalesce(sum(searched), 0) AS searched, coalesce(sum(is_open), 0) AS tasks,
    min(CASE WHEN is_open THEN created_at END) AS oldestAt, id AS oldestId
  FROM (
    SELECT id, created_at, 1 AS searched, status IN ('pending', 'processing') AS is_open
    FROM index_rows INDEXED BY tasks_submit_unknown
    WHERE submission = 'unknown' AND created_at >= ?1 ORDER BY created_at DESC, id DESC LIMIT ?2
  )`;

/** Returns the earliest creation time of the tasks that the query `UNKNOWN` searches, in Unix milliseconds. */
export function searchedSince(now: number): number {
  return now - SEARCHED_MS;
}

/**
 * Counts the tasks without a result whose submission has an unknown outcome.
 * @param limit largest number of tasks that are searched, those with a result included.
 * @param now current time, in Unix milliseconds.
 */
export async function unknownSubmissions(
  shards: Shards,
  limit: number,
  now: number,
): Promise<UnknownSubmissions> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(UNKNOWN).bind(searchedSince(now), share);
    const { results } = await statement.all<UnknownRow>();
    return results;
  });
  const rows = parts.flat();
  const oldestAt = earliest(rows.map((row) => row.oldestAt));
  const oldest = rows.find((row) => oldestAt !== null && row.oldestAt === oldestAt);
  return {
    tasks: sum(rows.map(({ tasks }) => tasks)),
    isCapped: rows.some(({ searched }) => searched >= share),
    oldestAt,
    oldestId: oldest?.oldestId ?? null,
  };
}
