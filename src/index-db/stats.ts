import { MINUTE_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { nearest, onSchema } from "./database.ts";
import { FOUND_LATE_ROWS, type FoundRow, type Histogram, histogramOf } from "./found-late.ts";

/**
 * Number of tasks of one model, host, status and callback status, summed over the hours of a window, and the
 * number of their attempts.
 */
export interface Count {
  readonly model: string;
  /** Host of the receiver; empty when the tasks have no `callback_url`. */
  readonly host: string;
  readonly status: string;
  /** Status of the callback; empty when the tasks have no `callback_url`. */
  readonly callback: string;
  readonly tasks: number;
  readonly attempts: number;
}

export interface Statistics {
  readonly counts: readonly Count[];
  readonly histograms: Readonly<Record<Measure, Histogram>>;
  /** How late results were found, by provider and by how they were found. */
  readonly found: readonly FoundRow[];
  /**
   * Unsettled tasks: those without a result, and those whose callback or refund is still under way;
   * `oldestAt` is the creation time of the oldest.
   */
  readonly backlog: Backlog;
  /**
   * Unsettled tasks that should have changed by themselves more than a minute ago, according to their row;
   * `oldestAt` is the earliest time at which one should have changed.
   */
  readonly overdue: Backlog;
  /**
   * Number of tasks that their objects still held after the end of the retention, and erased only when the
   * cron trigger asked them to.
   */
  readonly expiryLost: number;
  /** Size of the largest database of the index, in bytes. */
  readonly sizeBytes: number;
}

/**
 * Window of time: statistics cover the tasks created in it. `since` is inclusive, `until` exclusive, in Unix
 * milliseconds.
 */
export interface Window {
  readonly since: number;
  readonly until: number;
}

interface HistogramRow {
  readonly measure: Measure;
  readonly bucket: number;
  readonly tasks: number;
  readonly totalMs: number;
}

export interface Backlog {
  readonly tasks: number;
  /**
   * Earliest creation time, or for overdue tasks earliest due time, of the counted tasks, in Unix
   * milliseconds; null when there are no tasks.
   */
  readonly oldestAt: number | null;
}

interface Unsettled extends Backlog {
  readonly overdue: number;
  readonly overdueSince: number | null;
}

const OVERDUE_MS = MINUTE_MS;

const COUNTS = `
  SELECT model, host, status, callback, sum(tasks) AS tasks, sum(attempts) AS attempts
  FROM rollups WHERE hour >= ? AND hour < ? GROUP BY 1, 2, 3, 4`;
const HISTOGRAMS = `
  SELECT measure, bucket, sum(tasks) AS tasks, sum(total_ms) AS totalMs
  FROM latencies WHERE hour >= ? AND hour < ? GROUP BY 1, 2`;
const EXPIRY_LOST = `
  SELECT coalesce(sum(tasks), 0) AS tasks FROM counters
  WHERE name = 'expiry_lost' AND hour >= ? AND hour < ?`;
/**
 * Query that counts the unsettled tasks, and those of them that should have changed before `?1`. It reads the
 * entry of each unsettled task in the database index `tasks_due` once.
 */
const UNSETTLED = `
  SELECT count(*) AS tasks, min(created_at) AS oldestAt,
    count(CASE WHEN due_at < ?1 THEN 1 END) AS overdue,
    min(CASE WHEN due_at < ?1 THEN due_at END) AS overdueSince
  FROM tasks INDEXED BY tasks_due WHERE due_at IS NOT NULL`;
const EMPTY: Unsettled = { tasks: 0, oldestAt: null, overdue: 0, overdueSince: null };

/**
 * Computes the statistics of one database: sums the counts that the cron trigger has stored for each hour
 * (rollups.ts), and counts the unsettled tasks. It never reads the rows of settled tasks, which may be
 * millions. The window and `now` are in Unix milliseconds.
 */
export async function statistics(
  db: D1Database,
  { since, until }: Window,
  now: number,
): Promise<Statistics> {
  const [counts, buckets, unsettled, expiryLost, found] = await onSchema(db, () => {
    const database = nearest(db);
    return database.batch<Count & HistogramRow & Unsettled & FoundRow>([
      database.prepare(COUNTS).bind(since, until),
      database.prepare(HISTOGRAMS).bind(since, until),
      database.prepare(UNSETTLED).bind(now - OVERDUE_MS),
      database.prepare(EXPIRY_LOST).bind(since, until),
      database.prepare(FOUND_LATE_ROWS).bind(since, until),
    ]);
  });
  const rows = rowsOf(buckets);
  const { tasks, oldestAt, overdue, overdueSince } = unsettled?.results[0] ?? EMPTY;
  return {
    counts: rowsOf(counts),
    histograms: {
      first_attempt: histogram(rows, "first_attempt"),
      settled: histogram(rows, "settled"),
      index: histogram(rows, "index"),
    },
    found: rowsOf(found),
    backlog: { tasks, oldestAt },
    overdue: { tasks: overdue, oldestAt: overdueSince },
    expiryLost: expiryLost?.results[0]?.tasks ?? 0,
    sizeBytes: unsettled?.meta.size_after ?? 0,
  };
}

function rowsOf<T>(result: D1Result<T> | undefined): readonly T[] {
  return result?.results ?? [];
}

function histogram(rows: readonly HistogramRow[], measure: Measure): Histogram {
  return histogramOf(rows.filter((row) => row.measure === measure));
}
