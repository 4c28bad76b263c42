import type { Outcome } from "../core/record/outcome.ts";
import type { FailureCategory } from "../core/record/upstream.ts";
import { DAY_MS, HOUR_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { columnOf, type Count, type CountRow, type Kind, type Summed } from "./count-kinds.ts";
import { readEach } from "./each-shard.ts";
import type { Shards } from "./shards.ts";
import type { Window } from "./statistics-shape.ts";

/**
 * Description of one list of counts in a row of `step_counts`: the kind of the counts, the keys by which they are
 * grouped, and the numbers that are added up in each group.
 */
interface StepList {
  readonly kind: Kind;
  readonly keys: readonly string[];
  readonly numbers: readonly string[];
}

/** Lists of counts that a row of `step_counts` contains for an hour or a day (`StepLists`). */
const STEP_LISTS: readonly StepList[] = [
  { kind: "tasks", keys: ["status", "callback"], numbers: ["tasks", "attempts"] },
  { kind: "outcomes", keys: ["outcome"], numbers: ["attempts"] },
  { kind: "failures", keys: ["category"], numbers: ["tasks"] },
  { kind: "latencies", keys: ["measure", "bucket"], numbers: ["tasks"] },
  { kind: "sums", keys: ["column"], numbers: ["value"] },
  { kind: "job_times", keys: ["provider", "bucket"], numbers: ["tasks"] },
  { kind: "job_failures", keys: ["provider", "category"], numbers: ["tasks"] },
];
/**
 * Lists of counts that a row of `step_counts` contains for an hour. Only hours have counts by host, because these are
 * never read by the day.
 */
const HOUR_LISTS: readonly StepList[] = [
  ...STEP_LISTS,
  { kind: "hosts", keys: ["host", "callback"], numbers: ["tasks", "attempts"] },
];

/** SQL statement that adds up the counts of the hour `?1` in one row of `step_counts`. */
export const SUM_UP_HOUR = sumUp(
  HOUR_MS,
  HOUR_LISTS,
  (kind) => `counts WHERE run = '' AND kind = '${kind}' AND hour = ?1`,
  columnOf,
);
/** SQL statement that adds up the counts of the hours of the day `?1` in one row of `step_counts`. */
export const SUM_UP_DAY = sumUp(
  DAY_MS,
  STEP_LISTS,
  (kind) => `step_counts AS hours, json_each(hours.counts, '$.${kind}') AS entry
    WHERE step_ms = ${HOUR_MS} AND at >= ?1 AND at < ?1 + ${DAY_MS}`,
  (_, name) => `entry.value ->> '${name}'`,
);

interface OfStep {
  /** Beginning of the hour or, when counts are by day, of the day, in Unix milliseconds. */
  readonly hour: number;
}

/** Number of the tasks created in one hour or day that have the same status and callback status. */
export type StepCount = OfStep & Omit<Count, "model">;

/** Number of the tasks created in one hour whose callbacks go to the same host and have the same status. */
export type HostCount = OfStep & CountRow<"hosts">;

/** Number of the tasks created in one hour or day whose latencies fall into the same bucket of a histogram. */
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

/** Sum of one column over the tasks created in one hour or day, e.g. of the credits that they have cost. */
export interface StepSum extends OfStep {
  readonly column: Summed;
  readonly value: number;
}

/** Number of the completed tasks of a connection, created in one hour or day, whose jobs have taken similarly long. */
export interface StepJobTime extends OfStep {
  readonly provider: string;
  readonly bucket: number;
  readonly tasks: number;
}

/** Number of the failed tasks of a connection, created in one hour or day, whose failures have the same category. */
export interface StepJobFailure extends StepFailure {
  readonly provider: string;
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
  readonly sums: readonly StepSum[];
  readonly jobTimes: readonly StepJobTime[];
  readonly jobFailures: readonly StepJobFailure[];
}

/** Counts of the tasks created in each hour of a window of time, including the counts by host. */
export interface HourlyCounts extends StepCounts {
  readonly hosts: readonly HostCount[];
}

/**
 * The JSON object in a row of `step_counts`, with one list of counts for each kind. The entries of the lists do not
 * contain the hour, because the row has a column for it.
 */
interface StepLists {
  readonly tasks: readonly Omit<StepCount, "hour">[];
  readonly outcomes: readonly Omit<StepOutcome, "hour">[];
  readonly latencies: readonly Omit<StepLatency, "hour">[];
  readonly failures: readonly Omit<StepFailure, "hour">[];
  readonly sums: readonly Omit<StepSum, "hour">[];
  readonly job_times: readonly Omit<StepJobTime, "hour">[];
  readonly job_failures: readonly Omit<StepJobFailure, "hour">[];
  /** Counts by host. Absent in the rows of days, and when they were not read. */
  readonly hosts?: readonly Omit<HostCount, "hour">[];
}

/** Reads the counts of a window of time by hour, including the counts by host. */
export function hourlyCounts(shards: Shards, window: Window): Promise<HourlyCounts> {
  return readSteps(shards, window, HOUR_MS, "counts");
}

/**
 * Reads the counts of a window of time, added up over steps of `stepMs` (the length of an hour or a day in
 * milliseconds). The counts by host are left out.
 */
export function stepCounts(shards: Shards, window: Window, stepMs: number): Promise<StepCounts> {
  return readSteps(shards, window, stepMs, "json_remove(counts, '$.hosts')");
}

/**
 * Reads the counts of a window of time, by hour or by day. All counts of one hour or day are in a single row, because
 * D1 bills each row read.
 */
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
    return (await statement.all<OfStep & { readonly counts: string }>()).results;
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
    sums: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.sums)),
    jobTimes: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.job_times)),
    jobFailures: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.job_failures)),
    hosts: steps.flatMap(({ hour, lists }) => ofHour(hour, lists.hosts ?? [])),
  };
}

function ofHour<T extends object>(hour: number, entries: readonly T[]): readonly (T & OfStep)[] {
  return entries.map((entry) => ({ ...entry, hour }));
}

/**
 * Builds the statement that stores the counts of the hour or day `?1` as one JSON object. For each kind of counts the
 * object has a list. Each entry of the list adds up the counts that have the same keys.
 * @param sourceOf returns the SQL source from which the counts of a kind are read.
 * @param valueOf returns the SQL expression for a key or number of a kind in this source.
 */
function sumUp(
  stepMs: number,
  lists: readonly StepList[],
  sourceOf: (kind: Kind) => string,
  valueOf: (kind: Kind, name: string) => string,
): string {
  const members = lists.map(({ kind, keys, numbers }) => {
    const names = [...keys, ...numbers];
    const values = [
      ...keys.map((name) => `${valueOf(kind, name)} AS ${name}`),
      ...numbers.map((name) => `sum(${valueOf(kind, name)}) AS ${name}`),
    ];
    return `'${kind}', json((
      SELECT json_group_array(json_object(${names.map((name) => `'${name}', ${name}`).join(", ")})) FROM (
        SELECT ${values.join(", ")} FROM ${sourceOf(kind)} GROUP BY ${keys.map((_, index) => index + 1).join(", ")}
      )))`;
  });
  return `
    INSERT INTO step_counts (step_ms, at, counts)
    SELECT ${stepMs}, ?1, json_object(${members.join(", ")}) WHERE true
    ON CONFLICT (step_ms, at) DO UPDATE SET counts = excluded.counts
    WHERE step_counts.counts <> excluded.counts`;
}
