import { HOUR_S } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import type { PlacesOfConnection } from "./read-problems.ts";
import type { RangeSeries } from "./range-series.ts";
import { addUp, quantile } from "../../index-db/buckets.ts";

type Step = Pick<RangeSeries["steps"][number], "jobs">;
type Jobs = Step["jobs"][number];

/**
 * Categories of failures for which the caller of the job is responsible, and not the upstream: its content, its
 * parameters, or its order to cancel.
 */
const CAUSED_BY_CALLER: ReadonlySet<string> = new Set(["moderation", "invalid_input", "canceled"]);

/** Least number of failed jobs, and least share of all ended ones, from which on an upstream counts as failing. */
const FAILING = { jobs: 3, share: 0.1 };
/**
 * Numbers of the latest steps whose median time is compared with that of the steps before: of hours, and of days. An
 * upstream counts as slow when the first is at least `ratio` times the second, and each is the median of at least `jobs`
 * completed jobs.
 */
const SLOW = { hours: 3, days: 1, ratio: 1.5, jobs: 5 };

/** Ended jobs of one connection in one hour or day. */
interface UpstreamStep {
  readonly completed: number;
  /** Number of jobs that have failed for a reason of the upstream. */
  readonly failed: number;
  /** Median time of the completed jobs, in milliseconds; null when there are none. */
  readonly medianMs: number | null;
}

/** A connection to an upstream: its ended jobs in a time range, and its present places. */
export interface Upstream {
  readonly name: string;
  readonly completed: number;
  /** Number of jobs that have failed for a reason of the upstream. */
  readonly failed: number;
  /** Number of jobs that have failed for a reason of their callers. */
  readonly failedByCaller: number;
  readonly medianMs: number | null;
  readonly p95Ms: number | null;
  /** Hours or days of the range, oldest first. */
  readonly steps: readonly UpstreamStep[];
  /** Median times in milliseconds of the latest steps, and of those before; null unless the latest jobs are slow. */
  readonly slow: { readonly latestMs: number; readonly beforeMs: number } | null;
  readonly isFailing: boolean;
  /** Places of the connection; null when neither it nor a pool limits its jobs. */
  readonly places: PlacesOfConnection | null;
}

/**
 * Returns the connections with ended jobs in a time range, or with places: first those that fail, then the slow ones, then
 * those with the most jobs.
 */
export function upstreamsOf(
  series: Pick<RangeSeries, "job_bounds_ms" | "step_s"> & { readonly steps: readonly Step[] },
  places: readonly PlacesOfConnection[],
): readonly Upstream[] {
  const names = new Set([
    ...series.steps.flatMap(({ jobs }) => jobs.map(({ provider }) => provider)),
    ...places.map(({ connection }) => connection),
  ]);
  return [...names]
    .map((name) => {
      const own = places.find(({ connection }) => connection === name) ?? null;
      return { ...jobsOf(name, series), name, places: own };
    })
    .toSorted((a, b) => rankOf(b) - rankOf(a) || endedIn(b) - endedIn(a));
}

function rankOf({ isFailing, slow }: Upstream): number {
  return isFailing ? 2 : slow === null ? 0 : 1;
}

function endedIn({ completed, failed, failedByCaller }: Upstream): number {
  return completed + failed + failedByCaller;
}

function jobsOf(
  name: string,
  { steps, step_s: stepS, job_bounds_ms: bounds }: Parameters<typeof upstreamsOf>[0],
) {
  const own = steps.map(({ jobs }) => jobs.find(({ provider }) => provider === name));
  const timesOf = (part: typeof own) => addUp(part.map((jobs) => jobs?.times ?? []));
  const times = timesOf(own);
  const [completed, failed] = [sum(times), sum(own.map(failedOf))];
  const latest = stepS === HOUR_S ? SLOW.hours : SLOW.days;
  return {
    completed,
    failed,
    failedByCaller: sum(own.map(failedByCallerOf)),
    medianMs: quantile(times, 0.5, bounds),
    p95Ms: quantile(times, 0.95, bounds),
    steps: own.map((jobs) => ({
      completed: jobs?.completed ?? 0,
      failed: failedOf(jobs),
      medianMs: quantile(jobs?.times ?? [], 0.5, bounds),
    })),
    slow: slowOf(timesOf(own.slice(0, -latest)), timesOf(own.slice(-latest)), bounds),
    isFailing: failed >= FAILING.jobs && failed / (completed + failed) >= FAILING.share,
  };
}

function slowOf(before: readonly number[], latest: readonly number[], bounds: readonly number[]) {
  if (sum(before) < SLOW.jobs || sum(latest) < SLOW.jobs) return null;
  const [beforeMs, latestMs] = [quantile(before, 0.5, bounds), quantile(latest, 0.5, bounds)];
  if (beforeMs === null || latestMs === null) return null;
  return latestMs >= SLOW.ratio * beforeMs ? { latestMs, beforeMs } : null;
}

function failedOf(jobs: Jobs | undefined): number {
  return sum(
    Object.entries(jobs?.failures ?? {}).map(([category, tasks]) =>
      CAUSED_BY_CALLER.has(category) ? 0 : tasks,
    ),
  );
}

function failedByCallerOf(jobs: Jobs | undefined): number {
  return sum(Object.values(jobs?.failures ?? {})) - failedOf(jobs);
}
