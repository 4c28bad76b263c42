import { OUTCOMES } from "../core/record/outcome.ts";
import { DAY_MS, HOUR_MS } from "../core/time.ts";
import type { TimeBudget } from "../lib/time-budget.ts";
import { countsByHost } from "./count-tables.ts";

/**
 * Lists of a summary: each with the table that it sums up, the columns that its entries keep apart, and the
 * columns with numbers, which are added up.
 */
const LISTS = {
  counts: [
    "rollups",
    ["status", "callback"],
    ["tasks", "attempts", ...OUTCOMES.map((outcome) => `attempts_${outcome}`)],
  ],
  hosts: ["host_counts", ["host", "callback"], ["tasks", "attempts"]],
  latencies: ["latencies", ["measure", "bucket"], ["tasks"]],
  failures: ["failures", ["category"], ["tasks"]],
} as const satisfies Readonly<
  Record<string, readonly [table: string, keys: readonly string[], sums: readonly string[]]>
>;
type ListName = keyof typeof LISTS;

/**
 * Builds the query that sums up the counts of hours, one row for each hour, in the shape of the table
 * `summaries`: each list as JSON, whose entries have the names of the columns.
 * @param hours table with the beginnings of the hours, in Unix milliseconds, in the column `value`.
 */
export function hoursSummed(hours: string): string {
  return `SELECT ${HOUR_MS} AS step_ms, hours.value AS at, ${ofHour("counts")}, ${ofHour("hosts")},
    ${ofHour("latencies")}, ${ofHour("failures")} FROM ${hours} AS hours`;
}

function ofHour(name: ListName): string {
  const ofThis = "hour = hours.value";
  const counts =
    name === "hosts" ? `(${countsByHost(ofThis)})` : `${LISTS[name][0]} WHERE ${ofThis}`;
  return listOf(name, (column) => column, counts);
}

/**
 * Builds the query that adds up the summaries of the hours of days; without the counts by host, which are read
 * only by the hour.
 * @param days table with the beginnings of the days, in Unix milliseconds, in the column `value`.
 */
function daysSummed(days: string): string {
  return `SELECT ${DAY_MS}, days.value, ${ofDay("counts")}, '[]', ${ofDay("latencies")},
    ${ofDay("failures")} FROM ${days} AS days`;
}

function ofDay(name: ListName): string {
  const hours = `summaries AS hours, json_each(hours.${name}) AS entry
    WHERE step_ms = ${HOUR_MS} AND at >= days.value AND at < days.value + ${DAY_MS}`;
  return listOf(name, (column) => `entry.value ->> '${column}'`, hours);
}

/** Builds the expression for a list of a summary: groups with the same keys, and the sums of their numbers. */
function listOf(name: ListName, valueOf: (column: string) => string, from: string): string {
  const [, keys, sums] = LISTS[name];
  const groups = keys.map((key) => `${valueOf(key)} AS ${key}`);
  const values = sums.map((sum) => `sum(${valueOf(sum)}) AS ${sum}`);
  const members = [...keys, ...sums].map((column) => `'${column}', ${column}`);
  return `(SELECT json_group_array(json_object(${members.join(", ")})) FROM (
    SELECT ${[...groups, ...values].join(", ")} FROM ${from}
    GROUP BY ${keys.map((_, index) => index + 1).join(", ")})) AS ${name}`;
}

const STORE = "INSERT OR REPLACE INTO summaries (step_ms, at, counts, hosts, latencies, failures)";
const STALE_OF_LIST =
  "SELECT hour AS value FROM stale_hours WHERE hour IN (SELECT value FROM json_each(?1))";
const STATEMENTS = [
  `${STORE} ${hoursSummed(`(${STALE_OF_LIST})`)}`,
  `${STORE} ${daysSummed(`(SELECT DISTINCT value - value % ${DAY_MS} AS value FROM (${STALE_OF_LIST}))`)}`,
  "DELETE FROM stale_hours WHERE hour IN (SELECT value FROM json_each(?1))",
];
/** Number of queries that `summaryWrites` returns. */
export const SUMMARY_QUERIES = STATEMENTS.length;
const REMOVE = `
  DELETE FROM summaries WHERE step_ms IN (${HOUR_MS}, ${DAY_MS}) AND at < ? - ${DAY_MS}`;
const STALE = "SELECT hour FROM stale_hours ORDER BY hour DESC LIMIT ?";
/** Largest number of hours that one transaction sums up. */
const HOURS_AT_ONCE = 12;

/**
 * Returns the statements of a transaction that write the summaries of these hours, and of their days, where
 * the counts have changed since the summary was written.
 * @param hours JSON list of the beginnings of the hours, in Unix milliseconds.
 */
export function summaryWrites(database: D1Database, hours: string): readonly D1PreparedStatement[] {
  return STATEMENTS.map((statement) => database.prepare(statement).bind(hours));
}

/** Returns the statement that deletes the summaries of the time before `until`, in Unix milliseconds. */
export function removalOfSummaries(database: D1Database, until: number): D1PreparedStatement {
  return database.prepare(REMOVE).bind(until);
}

/**
 * Writes the summaries of the hours, newest first, that were not written together with the counts, because an
 * earlier release has counted them.
 */
export async function writeStaleSummaries(database: D1Database, budget: TimeBudget): Promise<void> {
  while (budget.take(1 + SUMMARY_QUERIES)) {
    const { results } = await database
      .prepare(STALE)
      .bind(HOURS_AT_ONCE)
      .all<{ readonly hour: number }>();
    if (results.length === 0) return;
    const hours = JSON.stringify(results.map(({ hour }) => hour));
    await database.batch([...summaryWrites(database, hours)]);
  }
}
