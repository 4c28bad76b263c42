import type { Outcome } from "../core/record/outcome.ts";
import type { FailureCategory } from "../core/record/upstream.ts";
import { HOUR_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { latest, readEach } from "./each-shard.ts";
import type { Shards } from "./shards.ts";
import type { Count, HostCount as HostCountOfWindow, Window } from "./statistics.ts";
import { hoursSummed } from "./summaries.ts";

/** Numbers of the attempts that have ended with each outcome. */
type EndedAttempts = Readonly<Record<`attempts_${Outcome}`, number>>;

interface OfStep {
  /** Beginning of the hour, or of the day where whole days are counted, in Unix milliseconds. */
  readonly hour: number;
}

/** Number of the tasks created in one hour or day that have the same status and callback status. */
export interface StepCount extends OfStep, EndedAttempts, Omit<Count, "model"> {}

/** Number of the tasks created in one hour whose callbacks go to the same host and have the same status. */
export interface HostCount extends OfStep, HostCountOfWindow {}

/** Number of the tasks created in one hour or day whose latency falls into the same bucket of a histogram. */
interface StepLatency extends OfStep {
  readonly measure: Measure;
  readonly bucket: number;
  readonly tasks: number;
}

/** Number of the failed tasks created in one hour or day whose failures have the same category. */
export interface StepFailure extends OfStep {
  readonly category: FailureCategory;
  readonly tasks: number;
}

/**
 * Counts of the tasks created in each hour or day of a window of time, as the cron trigger has stored them. Each
 * database of the index stores counts of its own, so the same key (e.g. hour and status) may occur more than
 * once.
 */
export interface StepCounts extends Window {
  readonly counts: readonly StepCount[];
  readonly latencies: readonly StepLatency[];
  readonly failures: readonly StepFailure[];
}

/** Counts of the tasks created in each hour of a window of time, also by host. */
export interface HourlyCounts extends StepCounts {
  readonly hosts: readonly HostCount[];
}

interface Summary {
  readonly hour: number;
  /**
   * JSON list of the counts by status and callback status. Its entries lack the hour, like those of the other
   * lists.
   */
  readonly counts: string;
  readonly latencies: string;
  readonly failures: string;
  readonly hosts: string;
}

/** Reads the counts of a window of time hour by hour. */
export function hourlyCounts(shards: Shards, window: Window): Promise<HourlyCounts> {
  return readSummaries(shards, window, HOUR_MS, "hosts");
}

/** Reads the counts of a window of time summed over steps of `stepMs` (an hour or a day), without those by host. */
export function stepCounts(shards: Shards, window: Window, stepMs: number): Promise<StepCounts> {
  return readSummaries(shards, window, stepMs, "'[]' AS hosts");
}

/** Reads the summaries of a window of time. A single row has all counts of a step, because D1 bills each row read. */
async function readSummaries(
  shards: Shards,
  { since, until }: Window,
  stepMs: number,
  hosts: string,
): Promise<HourlyCounts> {
  const sql = `SELECT at AS hour, counts, latencies, failures, ${hosts} FROM (${summariesOf(stepMs)})`;
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(sql).bind(since, until);
    return (await statement.all<Summary & Record<string, unknown>>()).results;
  });
  const rows = parts.flat();
  return {
    since,
    until,
    counts: rows.flatMap(({ hour, counts }) => entriesIn<StepCount>(hour, counts)),
    latencies: rows.flatMap(({ hour, latencies }) => entriesIn<StepLatency>(hour, latencies)),
    failures: rows.flatMap(({ hour, failures }) => entriesIn<StepFailure>(hour, failures)),
    hosts: rows.flatMap((row) => entriesIn<HostCount>(row.hour, row.hosts)),
  };
}

function entriesIn<T>(hour: number, list: string): readonly (Omit<T, "hour"> & OfStep)[] {
  const entries: readonly Omit<T, "hour">[] = JSON.parse(list);
  return entries.map((entry) => ({ ...entry, hour }));
}

/**
 * Builds the query for the summaries from the time `?1` to `?2`. Of an hour whose summary lacks its latest
 * counts, the summary is computed; the day that such an hour belongs to is read hour by hour.
 */
function summariesOf(stepMs: number): string {
  const staleHours = "SELECT hour AS value FROM stale_hours WHERE hour >= ?1 AND hour < ?2";
  const staleSteps = `SELECT DISTINCT value - value % ${stepMs} AS at FROM (${staleHours})`;
  return `
    SELECT * FROM summaries
    WHERE step_ms = ${stepMs} AND at >= ?1 AND at < ?2 AND at NOT IN (${staleSteps})
    UNION ALL
    SELECT hours.* FROM (${staleSteps}) AS steps
    CROSS JOIN summaries AS hours ON hours.step_ms = ${HOUR_MS}
      AND hours.at >= steps.at AND hours.at < steps.at + ${stepMs}
    WHERE NOT EXISTS (SELECT 1 FROM stale_hours WHERE hour = hours.at)
    UNION ALL
    ${hoursSummed(`(${staleHours})`)}`;
}

/**
 * Returns when a run of the cron trigger last found something new to count, in Unix milliseconds; null before
 * the first.
 */
export async function countedAt(shards: Shards): Promise<number | null> {
  const found = await readEach(shards, (database) =>
    database
      .prepare("SELECT max(advanced_at) AS at FROM totals")
      .first<{ readonly at: number | null }>(),
  );
  return latest(found.map((row) => row?.at ?? null));
}
