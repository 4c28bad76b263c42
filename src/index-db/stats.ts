import { MINUTE_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { nearest, onSchema } from "./database.ts";
import type { Backlog, Count, Statistics, Window } from "./statistics.ts";
import type { TotalRow } from "./totals.ts";
import { FOUND_LATE_ROWS, type FoundRow, type Histogram, histogramOf } from "./found-late.ts";

interface HistogramRow {
  readonly measure: Measure;
  readonly bucket: number;
  readonly tasks: number;
  readonly totalMs: number;
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
 * Query that counts the unsettled tasks (without a result, or with a callback or refund still under way), and
 * those of them that should have changed by themselves before `?1`. It reads the entry of each in the
 * database index `tasks_due` once.
 */
const UNSETTLED = `
  SELECT count(*) AS tasks, min(created_at) AS oldestAt,
    count(CASE WHEN due_at < ?1 THEN 1 END) AS overdue,
    min(CASE WHEN due_at < ?1 THEN due_at END) AS overdueSince
  FROM tasks INDEXED BY tasks_due WHERE due_at IS NOT NULL`;
const EMPTY: Unsettled = { tasks: 0, oldestAt: null, overdue: 0, overdueSince: null };

/**
 * Computes the statistics of one database: sums the counts that the cron trigger has stored for each hour
 * (rollups.ts), and counts the tasks that still have work to do. It never reads the rows of the other tasks,
 * which may be millions. The window and `now` are in Unix milliseconds.
 */
export async function statistics(
  db: D1Database,
  { since, until }: Window,
  now: number,
): Promise<Statistics> {
  const [counts, buckets, unsettled, expiryLost, found, totals] = await onSchema(db, () => {
    const database = nearest(db);
    return database.batch<Count & HistogramRow & Unsettled & FoundRow & TotalRow>([
      database.prepare(COUNTS).bind(since, until),
      database.prepare(HISTOGRAMS).bind(since, until),
      database.prepare(UNSETTLED).bind(now - OVERDUE_MS),
      database.prepare(EXPIRY_LOST).bind(since, until),
      database.prepare(FOUND_LATE_ROWS).bind(since, until),
      database.prepare("SELECT name, value, advanced_at AS advancedAt FROM totals"),
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
    totals: rowsOf(totals),
    sizeBytes: unsettled?.meta.size_after ?? 0,
  };
}

function rowsOf<T>(result: D1Result<T> | undefined): readonly T[] {
  return result?.results ?? [];
}

function histogram(rows: readonly HistogramRow[], measure: Measure): Histogram {
  return histogramOf(rows.filter((row) => row.measure === measure));
}
