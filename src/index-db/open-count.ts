import { MINUTE_MS } from "../core/time.ts";
import { sum } from "../core/sum.ts";
import { earliest, readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";

/**
 * Number of unsettled tasks (without a result, or with a callback or refund still under way), and how many of them are
 * overdue.
 */
export interface OpenCount extends OpenRow {
  /** True when the count has reached its limit, so that there may be more tasks. */
  readonly isCapped: boolean;
  /** Size of the largest database of the index, in bytes. */
  readonly sizeBytes: number;
}

/** Result of the query `OPEN`. */
export interface OpenRow {
  readonly tasks: number;
  /** Earliest creation time of an unsettled task, in Unix milliseconds; null when there are none. */
  readonly oldestAt: number | null;
  /**
   * Number of unsettled tasks that should have changed by themselves, e.g. by an attempt, more than a minute
   * ago.
   */
  readonly overdue: number;
  /** Earliest time at which an overdue task should have changed, in Unix milliseconds; null when there are none. */
  readonly overdueSince: number | null;
}

const OVERDUE_MS = MINUTE_MS;
const EMPTY: OpenRow = { tasks: 0, oldestAt: null, overdue: 0, overdueSince: null };

/**
 * SQL query that counts at most `?2` unsettled tasks, and among them those that should have changed by themselves
 * before `?1`. It reads the entry of each task in the database index `tasks_due`, in the order of the times at which
 * the tasks should change.
 */
export const OPEN = `
  SELECT count(*) AS tasks, min(created_at) AS oldestAt,
    count(CASE WHEN due_at < ?1 THEN 1 END) AS overdue,
    min(CASE WHEN due_at < ?1 THEN due_at END) AS overdueSince
  FROM (
    SELECT due_at, created_at FROM index_rows INDEXED BY tasks_due
    WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?2
  )`;

/** Returns the time before which an unsettled task should have changed by itself for it to be overdue. */
export function overdueBefore(now: number): number {
  return now - OVERDUE_MS;
}

/**
 * Counts the unsettled tasks: those without a result, and those whose callback or refund is still under way. If there
 * are more than `limit`, it counts only those that should change first.
 * @param now current time, in Unix milliseconds.
 */
export async function countOpen(shards: Shards, limit: number, now: number): Promise<OpenCount> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(OPEN).bind(overdueBefore(now), share);
    const { results, meta } = await statement.all<OpenRow>();
    return { ...(results[0] ?? EMPTY), sizeBytes: meta.size_after };
  });
  return {
    tasks: sum(parts.map(({ tasks }) => tasks)),
    isCapped: parts.some(({ tasks }) => tasks >= share),
    oldestAt: earliest(parts.map(({ oldestAt }) => oldestAt)),
    overdue: sum(parts.map(({ overdue }) => overdue)),
    overdueSince: earliest(parts.map(({ overdueSince }) => overdueSince)),
    sizeBytes: Math.max(...parts.map(({ sizeBytes }) => sizeBytes)),
  };
}
