import type { Outcome } from "../core/record/outcome.ts";
import type { FailureCategory } from "../core/record/upstream.ts";
import { HOUR_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { columnOf, type Count, type CountRow, type Kind, KINDS } from "./count-kinds.ts";
import { latest, readEach } from "./each-shard.ts";
import type { Shards } from "./shards.ts";
import type { Window } from "./statistics.ts";

interface OfStep {
  /** Beginning of the hour, or of the day where whole days are counted, in Unix milliseconds. */
  readonly hour: number;
}

/** Number of the tasks created in one hour or day that have the same status and callback status. */
export type StepCount = OfStep & Omit<Count, "model">;

/** Number of the tasks created in one hour whose callbacks go to the same host and have the same status. */
export type HostCount = OfStep & CountRow<"hosts">;

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

/** Number of the attempts of tasks created in one hour or day that have ended with the same outcome. */
export interface StepOutcome extends OfStep {
  readonly outcome: Outcome;
  readonly attempts: number;
}

/**
 * Counts of the tasks created in each hour or day of a window of time, as the cron trigger has stored them. Each
 * database of the index stores counts of its own, so the same key (e.g. hour and status) may occur more than
 * once.
 */
export interface StepCounts extends Window {
  readonly counts: readonly StepCount[];
  readonly outcomes: readonly StepOutcome[];
  readonly latencies: readonly StepLatency[];
  readonly failures: readonly StepFailure[];
}

/** Counts of the tasks created in each hour of a window of time, also by host. */
export interface HourlyCounts extends StepCounts {
  readonly hosts: readonly HostCount[];
}

/**
 * Builds the query for the counts of one kind (`CountRow`), summed over the hours from `?1` up to, but not including,
 * `?2`.
 */
export function sumsOf(kind: Kind): string {
  const { keys, number, sum } = KINDS[kind];
  const columns = [
    ...keys.map((key) => `${columnOf(kind, key)} AS ${key}`),
    `sum(number) AS ${number}`,
    ...(sum === null ? [] : [`sum(sum) AS ${sum}`]),
  ];
  const groups = keys.length === 0 ? "" : `GROUP BY ${keys.map((_, i) => i + 1).join(", ")}`;
  return `
    SELECT ${columns.join(", ")} FROM counts
    WHERE run = '' AND kind = '${kind}' AND hour >= ?1 AND hour < ?2 ${groups}`;
}

/** The JSON object of a row of `step_counts`. Its entries lack the hour. */
interface StepLists {
  readonly tasks: readonly Omit<StepCount, "hour">[];
  readonly outcomes: readonly Omit<StepOutcome, "hour">[];
  readonly latencies: readonly Omit<StepLatency, "hour">[];
  readonly failures: readonly Omit<StepFailure, "hour">[];
  /** Absent in the rows of days, and where they are not read. */
  readonly hosts?: readonly Omit<HostCount, "hour">[];
}

/** Reads the counts of a window of time hour by hour. */
export function hourlyCounts(shards: Shards, window: Window): Promise<HourlyCounts> {
  return readSteps(shards, window, HOUR_MS, "counts");
}

/** Reads the counts of a window of time summed over steps of `stepMs` (an hour or a day), without those by host. */
export function stepCounts(shards: Shards, window: Window, stepMs: number): Promise<StepCounts> {
  return readSteps(shards, window, stepMs, "json_remove(counts, '$.hosts')");
}

/** Reads the sums of a window of time. A single row has all counts of a step, because D1 bills each row read. */
async function readSteps(
  shards: Shards,
  { since, until }: Window,
  stepMs: number,
  counts: string,
): Promise<HourlyCounts> {
  const sql = `
    SELECT at AS hour, ${counts} AS counts FROM step_counts
    WHERE step_ms = ${stepMs} AND at >= ?1 AND at < ?2`;
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(sql).bind(since, until);
    return (await statement.all<OfStep & { readonly counts: string } & Record<string, unknown>>())
      .results;
  });
  const steps = parts.flat().map((row) => {
    const lists: StepLists = JSON.parse(row.counts);
    return { hour: row.hour, lists };
  });
  return {
    since,
    until,
    counts: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.tasks)),
    outcomes: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.outcomes)),
    latencies: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.latencies)),
    failures: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.failures)),
    hosts: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.hosts ?? [])),
  };
}

function ofHour<T extends object>(hour: number, entries: readonly T[]): readonly (T & OfStep)[] {
  return entries.map((entry) => ({ ...entry, hour }));
}

/**
 * Returns when a run of the cron trigger last found something new to count, in Unix milliseconds; null before
 * the first.
 */
export async function countedAt(shards: Shards): Promise<number | null> {
  const found = await readEach(shards, (database) =>
    database.prepare("SELECT max(advanced_at) AS at FROM totals").first<{ at: number | null }>(),
  );
  return latest(found.map((row) => row?.at ?? null));
}
