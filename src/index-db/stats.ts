import { MINUTE_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { nearest, onSchema } from "./database.ts";
import { countsByHost } from "./count-tables.ts";
import { OPEN } from "./open-count.ts";
import {
  type Backlog,
  type CopyCount,
  type Count,
  type CreditSums,
  type HostCount,
  type Statistics,
  sumOfCredits,
  type Window,
} from "./statistics.ts";
import type { TotalRow } from "./totals.ts";
import { searchedSince, UNKNOWN, type UnknownRow } from "./unknown-submissions.ts";
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

/**
 * Largest number of unsettled tasks that are counted in one database, those that should change first, and of tasks with
 * an unknown outcome of their submission: more would make `GET /metrics` and `GET /v1/stats` dear where many tasks are
 * open.
 */
const MAX_OPEN = 10_000;

const COUNTS = `
  SELECT model, status, callback, sum(tasks) AS tasks, sum(attempts) AS attempts,
    sum(kept_outputs) AS keptOutputs, sum(kept_bytes) AS keptBytes, sum(lost_outputs) AS lostOutputs,
    sum(credits_held) AS held, sum(credits_earned) AS earned,
    sum(credits_released) AS released, sum(credits_refunded) AS refunded
  FROM rollups WHERE hour >= ? AND hour < ? GROUP BY 1, 2, 3`;
const HOSTS = `
  SELECT host, callback, sum(tasks) AS tasks, sum(attempts) AS attempts
  FROM (${countsByHost("hour >= ?1 AND hour < ?2")}) GROUP BY 1, 2`;
const HISTOGRAMS = `
  SELECT measure, bucket, sum(tasks) AS tasks, sum(total_ms) AS totalMs
  FROM latencies WHERE hour >= ? AND hour < ? GROUP BY 1, 2`;
const EXPIRY_LOST = `
  SELECT coalesce(sum(tasks), 0) AS tasks FROM counters
  WHERE name = 'expiry_lost' AND hour >= ? AND hour < ?`;
const EMPTY: Unsettled = { tasks: 0, oldestAt: null, overdue: 0, overdueSince: null };

/**
 * Computes the statistics of one database: sums the counts that the cron trigger has stored for each hour
 * (rollups.ts), and counts the tasks that still have work to do, `MAX_OPEN` at most. It never reads the rows of the
 * other tasks, which may be millions. The window and `now` are in Unix milliseconds.
 */
export async function statistics(
  db: D1Database,
  { since, until }: Window,
  now: number,
): Promise<Statistics> {
  const results = await onSchema(db, () => read(nearest(db), { since, until }, now));
  const [counts, hosts, buckets, unsettled, expiryLost, found, totals, unknown] = results;
  const rows = rowsOf(buckets);
  const { tasks, oldestAt, overdue, overdueSince } = unsettled?.results[0] ?? EMPTY;
  return {
    counts: rowsOf(counts),
    credits: sumOfCredits(rowsOf(counts)),
    hosts: rowsOf(hosts),
    outputs: copiesIn(rowsOf(counts)),
    histograms: {
      first_attempt: histogram(rows, "first_attempt"),
      settled: histogram(rows, "settled"),
      index: histogram(rows, "index"),
    },
    found: rowsOf(found),
    backlog: { tasks, oldestAt },
    overdue: { tasks: overdue, oldestAt: overdueSince },
    submitUnknown: unknown?.results[0] ?? EMPTY,
    expiryLost: expiryLost?.results[0]?.tasks ?? 0,
    totals: rowsOf(totals),
    sizeBytes: unsettled?.meta.size_after ?? 0,
  };
}

type Row = CopyCount &
  Count &
  CreditSums &
  HostCount &
  HistogramRow &
  Unsettled &
  FoundRow &
  TotalRow &
  UnknownRow;

function read(
  database: D1DatabaseSession,
  { since, until }: Window,
  now: number,
): Promise<readonly D1Result<Row>[]> {
  return database.batch<Row>([
    database.prepare(COUNTS).bind(since, until),
    database.prepare(HOSTS).bind(since, until),
    database.prepare(HISTOGRAMS).bind(since, until),
    database.prepare(OPEN).bind(now - OVERDUE_MS, MAX_OPEN),
    database.prepare(EXPIRY_LOST).bind(since, until),
    database.prepare(FOUND_LATE_ROWS).bind(since, until),
    database.prepare("SELECT name, value, advanced_at AS advancedAt FROM totals"),
    database.prepare(UNKNOWN).bind(searchedSince(now), MAX_OPEN),
  ]);
}

function copiesIn(counts: readonly CopyCount[]): CopyCount {
  const sum = (name: keyof CopyCount) => counts.reduce((total, count) => total + count[name], 0);
  return {
    keptOutputs: sum("keptOutputs"),
    keptBytes: sum("keptBytes"),
    lostOutputs: sum("lostOutputs"),
  };
}

function rowsOf<T>(result: D1Result<T> | undefined): readonly T[] {
  return result?.results ?? [];
}

function histogram(rows: readonly HistogramRow[], measure: Measure): Histogram {
  return histogramOf(rows.filter((row) => row.measure === measure));
}
