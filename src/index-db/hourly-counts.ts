import { type Outcome, OUTCOMES } from "../core/record/outcome.ts";
import { HOUR_MS } from "../core/time.ts";
import type { Measure } from "./buckets.ts";
import { latest, readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";
import type { Count, Window } from "./statistics.ts";

/** Numbers of the attempts that have ended with each outcome. */
type EndedAttempts = Readonly<Record<`attempts_${Outcome}`, number>>;

/** Number of the tasks created in one hour that have the same model, host, status and callback status. */
export interface HourCount extends Count, EndedAttempts {
  /** Beginning of the hour, in Unix milliseconds. */
  readonly hour: number;
}

/** Number of the tasks created in one hour whose latency falls into the same bucket of a histogram. */
export interface HourLatency {
  /** Beginning of the hour, in Unix milliseconds. */
  readonly hour: number;
  readonly measure: Measure;
  readonly bucket: number;
  readonly tasks: number;
}

/**
 * Counts of the tasks created in a window of time, as the cron trigger has stored them. Each database of the
 * index stores counts of its own, so the same key (e.g. hour, model, host and status) may occur more than
 * once.
 */
export interface HourlyCounts extends Window {
  readonly counts: readonly HourCount[];
  readonly latencies: readonly HourLatency[];
}

/**
 * Largest number of counts that are read for a window of time, so that many hosts and models cannot make it
 * costly.
 */
const MAX_COUNTS = 12_000;

const OUTCOME_COLUMNS = OUTCOMES.map((outcome) => `attempts_${outcome}` as const);

const COUNTS = `
  SELECT hour, model, host, status, callback, tasks, attempts, ${OUTCOME_COLUMNS.join(", ")}
  FROM rollups WHERE hour >= ?1 AND hour < ?2 ORDER BY hour DESC LIMIT ?3`;
const LATENCIES = `
  SELECT hour, measure, bucket, tasks FROM latencies WHERE hour >= ?1 AND hour < ?2`;

/**
 * Reads the counts of a window of time hour by hour, each once and without grouping them, because D1 bills a
 * row that is sorted into a group twice. When there are more than 12,000 counts, the window begins later.
 */
export async function hourlyCounts(shards: Shards, window: Window): Promise<HourlyCounts> {
  const limit = shareOf(MAX_COUNTS, shards);
  const values = [window.since, window.until];
  const parts = await readCounts(shards, [
    [COUNTS, [...values, limit]],
    [LATENCIES, values],
  ]);
  const cut = parts.flatMap(({ counts }) => {
    const oldest = counts.length < limit ? undefined : counts.at(-1);
    return oldest === undefined ? [] : [oldest.hour + HOUR_MS];
  });
  const since = Math.max(window.since, ...cut);
  return {
    since,
    until: window.until,
    counts: parts.flatMap(({ counts }) => counts).filter(({ hour }) => hour >= since),
    latencies: parts.flatMap(({ latencies }) => latencies).filter(({ hour }) => hour >= since),
  };
}

/**
 * Reads the counts of a window of time summed over steps of `stepMs` (hours or days), over all models and
 * hosts; `hour` is the beginning of the step.
 */
export async function stepCounts(
  shards: Shards,
  window: Window,
  stepMs: number,
): Promise<HourlyCounts> {
  const step = `hour - hour % ${stepMs}`;
  const within = "WHERE hour >= ?1 AND hour < ?2";
  const values = [window.since, window.until];
  const parts = await readCounts(shards, [
    [
      `SELECT ${step} AS hour, '' AS model, '' AS host, status, callback,
         ${["tasks", "attempts", ...OUTCOME_COLUMNS].map((sum) => `sum(${sum}) AS ${sum}`).join(", ")}
       FROM rollups ${within} GROUP BY 1, 4, 5`,
      values,
    ],
    [
      `SELECT ${step} AS hour, measure, bucket, sum(tasks) AS tasks
       FROM latencies ${within} GROUP BY 1, 2, 3`,
      values,
    ],
  ]);
  return {
    ...window,
    counts: parts.flatMap(({ counts }) => counts),
    latencies: parts.flatMap(({ latencies }) => latencies),
  };
}

type Statement = readonly [sql: string, values: readonly number[]];

function readCounts(shards: Shards, statements: readonly Statement[]) {
  return readEach(shards, async (database) => {
    const [counts, latencies] = await database.batch<HourCount & HourLatency>(
      statements.map(([sql, values]) => database.prepare(sql).bind(...values)),
    );
    return { counts: counts?.results ?? [], latencies: latencies?.results ?? [] };
  });
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
