import { seeded } from "../test/simulation/random.ts";
import { mean, quantile } from "./figures.ts";

/** Distribution of the durations of jobs: log-normal. */
export interface Durations {
  /** Median in milliseconds. */
  readonly medianMs: number;
  readonly sigma: number;
}

/** Job whose result a poll has found. */
export interface FoundJob {
  readonly durationMs: number;
  /** Time in milliseconds from the end of the job to the moment at which the relay knows the result. */
  readonly latenessMs: number;
  readonly polls: number;
}

/** Lateness with which the results of jobs were found. A part is a fraction of the duration of the same job. */
export interface Lateness {
  readonly jobs: number;
  readonly meanMs: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly meanPart: number;
  readonly medianPart: number;
  readonly p95Part: number;
  /** Mean number of polls per job. */
  readonly polls: number;
}

/** Returns a generator of durations in milliseconds, which yields the same sequence for the same seed. */
export function durationsOf({ medianMs, sigma }: Durations, seed: number): () => number {
  const random = seeded(seed);
  // Box-Muller; 1 - random() is never 0.
  return () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.round(medianMs * Math.exp(sigma * normal));
  };
}

export function latenessOf(jobs: readonly FoundJob[]): Lateness {
  const times = jobs.map(({ latenessMs }) => latenessMs);
  const parts = jobs.map(({ latenessMs, durationMs }) => latenessMs / durationMs);
  return {
    jobs: jobs.length,
    meanMs: mean(times),
    medianMs: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
    meanPart: mean(parts),
    medianPart: quantile(parts, 0.5),
    p95Part: quantile(parts, 0.95),
    polls: mean(jobs.map(({ polls }) => polls)),
  };
}
