import * as z from "zod/mini";
import { OUTCOMES } from "../../core/record/outcome.ts";
import { DAY_S, HOUR_S, toSeconds } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import { BOUNDS_MS, JOB_BOUNDS_MS, type Measure } from "../../index-db/buckets.ts";
import { countedAt } from "../../index-db/index-state.ts";
import { type StepCounts, type StepOutcome, stepCounts } from "../../index-db/step-counts.ts";
import type { Env } from "../../env.ts";
import type { Shards } from "../../index-db/shards.ts";
import { json } from "../http/answer.ts";
import { invalidRequest } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, operation } from "../operation.ts";
import { callbacksView, creditsView, jobsView, tasksView } from "./count-views.ts";
import { QueryTimeS } from "./filters.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { recentCounts } from "./recent-counts.ts";

const DEFAULT_STEPS = { 3600: 25, 86400: 30 } as const;
const MAX_STEPS = 200;

/**
 * Query of `GET /v1/stats/series`: a time range in Unix seconds, which by default ends now, and the length in seconds
 * of the steps (an hour or a day) for which the response has separate counts.
 */
const SeriesQuery = z.strictObject({
  since: QueryTimeS,
  until: QueryTimeS,
  step: z._default(z.enum(["3600", "86400"], "must be 3600 or 86400"), "3600"),
});
type SeriesQuery = z.output<typeof SeriesQuery>;

/** Time range in Unix seconds, divided into steps (hours or days) for which tasks are counted separately. */
interface Steps {
  readonly since: number;
  readonly until: number;
  /** Length of each step in seconds: that of an hour or of a day. */
  readonly step: number;
}

/** Counts the tasks that were created in each hour or day of a time range. */
const readSeries = operation(
  "readSeries",
  { access: "statistics", query: SeriesQuery, body: NoBody },
  async ({ env, runtime, query }) => await series(env, requireIndex(env, runtime), query),
);

export const readSeriesRoute = routeOf(
  { method: "GET", path: "/v1/stats/series" },
  readSeries,
  (counts) => json(counts),
);

/** Returns the counts and latencies of the tasks created in each hour or day of a time range. */
export async function series(env: Env, shards: Shards, query: SeriesQuery) {
  const now = Date.now();
  const steps = stepsOf(query, toSeconds(now));
  const window = { since: steps.since * 1000, until: steps.until * 1000 };
  const counts = await queryIndex(async () => {
    const isHourly = steps.step === HOUR_S;
    const recent = isHourly ? await recentCounts(env, shards, now) : null;
    if (recent !== null && recent.since <= window.since) return recent;
    const found = await stepCounts(shards, window, steps.step * 1000);
    return { ...found, countedAt: await countedAt(shards) };
  });
  const at = counts.countedAt;
  return { counted_at: at === null ? null : toSeconds(at), ...seriesOf(counts, steps) };
}

/**
 * Extends the time range from `since` to `until`, in Unix seconds, to whole hours or days.
 * @throws Problem `invalid_request` when the range is empty or has more than 200 steps.
 */
function stepsOf(given: SeriesQuery, nowS: number): Steps {
  const step = given.step === "3600" ? HOUR_S : DAY_S;
  const until = given.until ?? nowS + 1;
  const end = Math.ceil(until / step) * step;
  const since = given.since ?? Math.max(0, end - DEFAULT_STEPS[given.step] * step);
  if (since >= until) throw invalidRequest([{ path: "/since", message: "must be before until" }]);
  const start = Math.floor(since / step) * step;
  if (end - start <= MAX_STEPS * step) return { since: start, until: end, step };
  const message = `must be at most ${MAX_STEPS} steps before until`;
  throw invalidRequest([{ path: "/since", message }]);
}

/**
 * Returns the counts of the tasks created in each step (hour or day) of a time range: tasks by status, failed tasks
 * also by failure category, callbacks by status, attempts by outcome, credits, and the ended jobs of each connection.
 * Each step also has two histograms of latencies, whose buckets have the upper bounds `bounds_ms`; those of the times of
 * jobs have `job_bounds_ms`.
 */
function seriesOf(
  { counts, outcomes, latencies, failures, sums, jobTimes, jobFailures }: StepCounts,
  { since, until, step }: Steps,
) {
  const startOf = (row: { readonly hour: number }) => Math.floor(toSeconds(row.hour) / step) * step;
  const counted = Map.groupBy(counts, startOf);
  const ended = Map.groupBy(outcomes, startOf);
  const measured = Map.groupBy(latencies, startOf);
  const failed = Map.groupBy(failures, startOf);
  const summed = Map.groupBy(sums, startOf);
  const completedJobs = Map.groupBy(jobTimes, startOf);
  const failedJobs = Map.groupBy(jobFailures, startOf);
  const starts = Array.from({ length: (until - since) / step }, (_, n) => since + n * step);
  const steps = starts.map((at) => {
    const rows = counted.get(at) ?? [];
    const histogram = (wanted: Measure) => {
      const buckets = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0);
      for (const { measure, bucket, tasks } of measured.get(at) ?? []) {
        if (measure === wanted) buckets[bucket] = (buckets[bucket] ?? 0) + tasks;
      }
      return buckets;
    };
    return {
      at,
      tasks: tasksView(rows, failed.get(at) ?? []),
      callbacks: { ...callbacksView(rows), outcomes: outcomesView(ended.get(at) ?? []) },
      latency: { first_attempt: histogram("first_attempt"), settled: histogram("settled") },
      credits: creditsView(summed.get(at) ?? []),
      jobs: jobsView(completedJobs.get(at) ?? [], failedJobs.get(at) ?? []),
    };
  });
  return {
    since,
    until,
    step_s: step,
    bounds_ms: BOUNDS_MS,
    job_bounds_ms: JOB_BOUNDS_MS,
    steps,
  };
}

/** Returns the number of attempts that ended with each outcome, without the outcomes that no attempt has. */
function outcomesView(rows: readonly StepOutcome[]): Readonly<Record<string, number>> {
  const sums = OUTCOMES.map((outcome) => {
    const ended = rows.filter((row) => row.outcome === outcome);
    return [outcome, sum(ended.map(({ attempts }) => attempts))] as const;
  });
  return Object.fromEntries(sums.filter(([, attempts]) => attempts > 0));
}
