import { sum } from "../core/sum.ts";
import type { Measure } from "./buckets.ts";
import {
  columnOf,
  type Count,
  type CountRow,
  type Kind,
  KINDS,
  type Summed,
} from "./count-kinds.ts";
import { earliest, readEach } from "./each-shard.ts";
import type { IndexResult, IndexSession } from "./index-database.ts";
import { type Histogram, histogramOf } from "./found-late.ts";
import { lateBefore, OPEN_COPIES, type OpenCopiesRow, sumOfCopies } from "./open-copies.ts";
import { OPEN, type OpenRow, overdueBefore } from "./open-count.ts";
import type { Shards } from "./shards.ts";
import type { Backlog, Statistics, TotalRow, Window } from "./statistics-shape.ts";
import { searchedSince, UNKNOWN } from "./unknown-submissions.ts";

/**
 * Largest number of unsettled tasks that are counted in one database, largest number of tasks with an unknown
 * submission outcome, and largest number of tasks whose outputs are being copied. Without the limit, `GET /metrics` and
 * `GET /v1/stats` would read too many rows when many tasks are open.
 */
const MAX_OPEN = 10_000;

const TOTALS = "SELECT name, value, advanced_at AS advancedAt FROM totals";

/**
 * Computes the statistics of all databases of the index. It adds up the counts that the cron trigger has stored for
 * each hour (count-hours.ts), and counts the tasks that should still change by themselves, at most `MAX_OPEN` in each
 * database. The rows of other tasks, which may be millions, are never read. The window and `now` are in Unix
 * milliseconds.
 */
export async function statistics(shards: Shards, window: Window, now: number): Promise<Statistics> {
  const parts = await readEach(shards, (database) => readRows(database, window, now));
  const all = <T>(of: (part: Rows) => readonly T[]) => parts.flatMap(of);
  const sums = all((part) => part.sums);
  const latencies = all((part) => part.latencies);
  const unsettled = all((part) => part.unsettled);
  return {
    counts: all((part) => part.counts),
    sums: {
      refunded: sumOf(sums, "refunded"),
      kept_outputs: sumOf(sums, "kept_outputs"),
      kept_bytes: sumOf(sums, "kept_bytes"),
      lost_outputs: sumOf(sums, "lost_outputs"),
      credits_held: sumOf(sums, "credits_held"),
      credits_earned: sumOf(sums, "credits_earned"),
      credits_released: sumOf(sums, "credits_released"),
      credits_refunded: sumOf(sums, "credits_refunded"),
    },
    hosts: all((part) => part.hosts),
    histograms: {
      first_attempt: histogram(latencies, "first_attempt"),
      settled: histogram(latencies, "settled"),
      index: histogram(latencies, "index"),
    },
    found: all((part) => part.found),
    backlog: backlogOf(unsettled),
    overdue: backlogOf(
      unsettled.map(({ overdue, overdueSince }) => ({ tasks: overdue, oldestAt: overdueSince })),
    ),
    submitUnknown: backlogOf(all((part) => part.unknown)),
    copies: sumOfCopies(
      all((part) => part.copies),
      MAX_OPEN,
    ),
    expiryLost: sum(all((part) => part.expiryLost).map(({ tasks }) => tasks ?? 0)),
    totals: all((part) => part.totals),
    sizeBytes: Math.max(...parts.map((part) => part.sizeBytes)),
  };
}

type Rows = Awaited<ReturnType<typeof readRows>>;

/** Reads the rows of one database from which the statistics are computed. */
async function readRows(database: IndexSession, { since, until }: Window, now: number) {
  const ofWindow = (kind: Kind) => database.prepare(sumsOf(kind)).bind(since, until);
  const [counts, sums, hosts, latencies, found, expiryLost, unsettled, totals, unknown, copies] =
    await database.batch<never>([
      ofWindow("tasks"),
      ofWindow("sums"),
      ofWindow("hosts"),
      ofWindow("latencies"),
      ofWindow("found_late"),
      ofWindow("expiry_lost"),
      database.prepare(OPEN).bind(overdueBefore(now), MAX_OPEN),
      database.prepare(TOTALS),
      database.prepare(UNKNOWN).bind(searchedSince(now), MAX_OPEN),
      database.prepare(OPEN_COPIES).bind(lateBefore(now), MAX_OPEN),
    ]);
  return {
    counts: rowsOf<Count>(counts),
    sums: rowsOf<CountRow<"sums">>(sums),
    hosts: rowsOf<CountRow<"hosts">>(hosts),
    latencies: rowsOf<CountRow<"latencies">>(latencies),
    found: rowsOf<CountRow<"found_late">>(found),
    expiryLost: rowsOf<{ readonly tasks: number | null }>(expiryLost),
    unsettled: rowsOf<OpenRow>(unsettled),
    totals: rowsOf<TotalRow>(totals),
    unknown: rowsOf<Backlog>(unknown),
    copies: rowsOf<OpenCopiesRow>(copies),
    sizeBytes: unsettled?.meta.size_after ?? 0,
  };
}

/**
 * Builds the query that adds up the counts of one kind (`CountRow`) over the hours from `?1` (inclusive) to `?2`
 * (exclusive).
 */
function sumsOf(kind: Kind): string {
  const { keys, number, sum: added } = KINDS[kind];
  const columns = [
    ...keys.map((key) => `${columnOf(kind, key)} AS ${key}`),
    `sum(number) AS ${number}`,
    ...(added === null ? [] : [`sum(sum) AS ${added}`]),
  ];
  const groups = keys.length === 0 ? "" : `GROUP BY ${keys.map((_, i) => i + 1).join(", ")}`;
  return `
    SELECT ${columns.join(", ")} FROM counts
    WHERE run = '' AND kind = '${kind}' AND hour >= ?1 AND hour < ?2 ${groups}`;
}

function rowsOf<T>(result: IndexResult<T> | undefined): readonly T[] {
  return result?.results ?? [];
}

function sumOf(sums: readonly CountRow<"sums">[], column: Summed): number {
  return sums.reduce((total, row) => (row.column === column ? total + row.value : total), 0);
}

function histogram(rows: readonly CountRow<"latencies">[], measure: Measure): Histogram {
  return histogramOf(rows.filter((row) => row.measure === measure));
}

function backlogOf(parts: readonly Backlog[]): Backlog {
  return {
    tasks: sum(parts.map(({ tasks }) => tasks)),
    oldestAt: earliest(parts.map(({ oldestAt }) => oldestAt)),
  };
}
