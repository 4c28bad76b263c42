import { OUTCOMES } from "../core/record/outcome.ts";
import { HOUR_MS, DAY_MS, MINUTE_MS } from "../core/time.ts";
import type { TimeBudget } from "../time-budget.ts";
import { bucketOf, FOUND_LATE, MEASURES } from "./buckets.ts";
import { ready } from "./database.ts";
import { removalOfSummaries, summaryWrites, writeStaleSummaries } from "./summaries.ts";
import { ADVANCE, advances } from "./totals.ts";
import {
  countFailures,
  countFoundLate,
  countLatencies,
  countTasks,
  type CountRow,
  difference,
  type Group,
  TASK_SUMS,
} from "./tally.ts";

/**
 * Length of a quarter of a day in milliseconds. The tasks of an hour of the present quarter whose rows have changed
 * are counted again at every run of the cron trigger, those of earlier quarters once an hour.
 */
const RANGE_MS = 6 * HOUR_MS;
const KEEP_MS = 400 * DAY_MS;
/** Tables with rows for each hour. The rows are deleted after `KEEP_MS`. */
const HOURLY_TABLES = [
  "rollups",
  "latencies",
  "found_late",
  "failures",
  "counters",
  "stale_hours",
] as const;
/**
 * Minutes at the beginning of each hour, in milliseconds. A run of the cron trigger that falls into them counts all
 * hours whose rows have changed; any other run counts only the hours of the present quarter of the day (`RANGE_MS`).
 */
const FULL_WITHIN_MS = 10 * MINUTE_MS;
/**
 * Largest number of hours whose tasks are counted by one transaction, which reads all rows of these hours.
 */
const MAX_HOURS_AT_ONCE = 24;
/**
 * Number of rows that one transaction should read at most while it counts the tasks of some hours. After a
 * transaction that read no more, the next one counts twice as many hours; after one that read more, the next
 * one counts a single hour, because other queries wait during a transaction.
 */
const FEW_ROWS = 20_000;

const HOURS = "(SELECT value FROM json_each(?1))";
const DIRTY_HOURS = "SELECT DISTINCT hour FROM dirty_hours WHERE hour >= ? ORDER BY hour DESC";
const UNMARK = `DELETE FROM dirty_hours WHERE hour IN ${HOURS}`;
const CLAIM = "INSERT INTO dirty_hours (hour, run) SELECT value, ?2 FROM json_each(?1)";
const RELEASE = `${UNMARK} AND run = ?2`;

const TIMES = [...MEASURES, FOUND_LATE];
/**
 * Query that counts the tasks created in given hours, in groups of the same model, host, status, callback
 * status, provider, source of the result (hook, poll or report), category of the failure, and latency
 * buckets. D1 counts each row twice: as read from the table, and as sorted into its group.
 */
const GROUPS = `
  SELECT hours.value AS hour, model, coalesce(host, '') AS host, status,
    coalesce(callback, '') AS callback,
    coalesce(provider, '') AS provider, coalesce(found_by, '') AS foundBy,
    coalesce(category, '') AS category,
    ${TIMES.map(([measure, value]) => `${bucketOf(value)} AS ${measure}_bucket`).join(", ")},
    count(*) AS tasks, sum(attempts) AS attempts, sum(refunded) AS refunds,
    ${OUTCOMES.map((outcome) => `total(outcomes ->> '${outcome}') AS attempts_${outcome}`).join(", ")},
    ${TIMES.map(([measure, value]) => `sum(${value}) AS ${measure}_ms`).join(", ")}
  FROM json_each(?1) AS hours
  CROSS JOIN tasks ON created_at >= hours.value AND created_at < hours.value + ${HOUR_MS}
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`;

const ROLLUPS = countTable("rollups", ["hour", "model", "host", "status", "callback"], TASK_SUMS);
const LATENCIES = countTable("latencies", ["hour", "measure", "bucket"], ["tasks", "total_ms"]);
const FOUND = countTable(
  "found_late",
  ["hour", "provider", "found_by", "bucket"],
  ["tasks", "total_ms"],
);
const FAILURES = countTable("failures", ["hour", "category"], ["tasks"]);

/**
 * Counts again the tasks of the hours that are marked in `dirty_hours`, because rows of tasks created in them
 * have changed since the last count. Counting the rows instead of incrementing counters gives exact numbers
 * even when rows arrive late, twice or out of order. Counts of hours before the retention are not changed,
 * because rows of these hours may have expired.
 * @param retentionMs shortest time between the creation of a task and the expiry of its row.
 * @param now current time, in Unix milliseconds.
 * @returns the number of counted hours.
 */
export async function rollUp(
  db: D1Database,
  retentionMs: number,
  now: number,
  budget: TimeBudget,
): Promise<number> {
  const database = await ready(db);
  await database.batch([
    database.prepare("DELETE FROM dirty_hours WHERE hour <= ?").bind(now - retentionMs),
    ...HOURLY_TABLES.map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE hour < ?`).bind(now - KEEP_MS),
    ),
    removalOfSummaries(database, now - KEEP_MS),
  ]);
  const isFull = now % HOUR_MS < FULL_WITHIN_MS;
  const hours = await dirtyHours(database, isFull ? 0 : now - (now % RANGE_MS));
  let counted = 0;
  for (let size = 1; counted < hours.length && budget.startRound();) {
    const batch = hours.slice(counted, counted + size);
    const rowsRead = await recount(database, batch, now);
    counted += batch.length;
    size = rowsRead > FEW_ROWS ? 1 : Math.min(size * 2, MAX_HOURS_AT_ONCE);
  }
  await writeStaleSummaries(database, budget);
  return counted;
}

/**
 * Returns the hours whose tasks must be counted again, newest first, each as its beginning in Unix
 * milliseconds.
 * @param since beginning of the earliest hour to return, in Unix milliseconds.
 */
async function dirtyHours(database: D1Database, since: number): Promise<readonly number[]> {
  const { results } = await database.prepare(DIRTY_HOURS).bind(since).all<{ hour: number }>();
  return results.map(({ hour }) => hour);
}

/**
 * Counts the tasks of some hours again, and writes only the counts that differ from the stored ones, because
 * D1 bills written rows. The table `dirty_hours` lists the hours to be counted. First the entries of these
 * hours in it are replaced by entries with an id of this run; the transaction that writes the counts deletes
 * those. So after a crash the hours are still in the list, and a row that arrives during the count puts its
 * hour in the list again. If another run has put its own id there in the meantime, this run writes nothing.
 * The same transaction raises the totals (totals.ts) and sums up the counts (summaries.ts).
 * @returns the number of rows read.
 */
async function recount(
  database: D1Database,
  hours: readonly number[],
  now: number,
): Promise<number> {
  const claim = [JSON.stringify(hours), crypto.randomUUID()] as const;
  const [, , groups, rollups, latencies, late, failures] = await database.batch<
    Group & StoredCount
  >([
    database.prepare(UNMARK).bind(claim[0]),
    database.prepare(CLAIM).bind(...claim),
    ...[GROUPS, ROLLUPS.select, LATENCIES.select, FOUND.select, FAILURES.select].map((sql) =>
      database.prepare(sql).bind(claim[0]),
    ),
  ]);
  const found = rowsOf(groups);
  const counted = countTasks(found);
  const risen = advances(storedIn(ROLLUPS, rollups), counted);
  await database.batch([
    database.prepare(ADVANCE).bind(JSON.stringify(risen), claim[1], now),
    ...writes(database, ROLLUPS, storedIn(ROLLUPS, rollups), counted, claim[1]),
    ...writes(database, LATENCIES, storedIn(LATENCIES, latencies), countLatencies(found), claim[1]),
    ...writes(database, FOUND, storedIn(FOUND, late), countFoundLate(found), claim[1]),
    ...writes(database, FAILURES, storedIn(FAILURES, failures), countFailures(found), claim[1]),
    ...summaryWrites(database, claim[0]),
    database.prepare(RELEASE).bind(...claim),
  ]);
  return groups?.meta.rows_read ?? 0;
}

type StoredCount = Readonly<Record<string, string | number>>;
type CountTable = ReturnType<typeof countTable>;

/**
 * Builds the SQL statements that read, write and delete rows of a table with counts for each hour.
 * @param keys names of its key columns, of which the first is the hour.
 * @param sums names of the columns with the counted numbers.
 */
function countTable(table: string, keys: readonly string[], sums: readonly string[]) {
  const columns = [...keys, ...sums];
  const values = columns.map((_, index) => `value ->> ${index}`);
  const isClaimed = "EXISTS (SELECT 1 FROM dirty_hours WHERE hour = value ->> 0 AND run = ?2)";
  return {
    keys,
    sums,
    select: `SELECT ${columns.join(", ")} FROM ${table} WHERE hour IN ${HOURS}`,
    upsert: `
      INSERT INTO ${table} (${columns.join(", ")})
      SELECT ${values.join(", ")} FROM json_each(?1) WHERE ${isClaimed}
      ON CONFLICT (${keys.join(", ")}) DO UPDATE
      SET ${sums.map((sum) => `${sum} = excluded.${sum}`).join(", ")}`,
    remove: `
      DELETE FROM ${table} WHERE (${keys.join(", ")}) IN (
        SELECT ${values.slice(0, keys.length).join(", ")} FROM json_each(?1) WHERE ${isClaimed}
      )`,
  };
}

/**
 * Returns the SQL statements that replace the stored counts of a table by the new counts where the two
 * differ.
 * @param run id that this run has put into the entries of its hours in `dirty_hours`; for an hour whose entry
 * has the id of another run by now, the statements write nothing.
 */
function writes(
  database: D1Database,
  table: CountTable,
  stored: readonly CountRow[],
  counted: readonly CountRow[],
  run: string,
): readonly D1PreparedStatement[] {
  const { changed, gone } = difference(stored, counted);
  const rows = changed.map(({ key, sums }) => [...key, ...sums]);
  return [
    ...(rows.length === 0 ? [] : [database.prepare(table.upsert).bind(JSON.stringify(rows), run)]),
    ...(gone.length === 0 ? [] : [database.prepare(table.remove).bind(JSON.stringify(gone), run)]),
  ];
}

/** Converts the rows that a query of a table with counts has returned: each to its key and its sums. */
function storedIn(
  { keys, sums }: CountTable,
  result: D1Result<StoredCount> | undefined,
): readonly CountRow[] {
  return rowsOf(result).map((row) => ({
    key: keys.map((key) => row[key] ?? ""),
    sums: sums.map((sum) => Number(row[sum])),
  }));
}

function rowsOf<T>(result: D1Result<T> | undefined): readonly T[] {
  return result?.results ?? [];
}
