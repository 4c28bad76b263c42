import { HOUR_MS, SECOND_MS } from "../time.ts";

/**
 * Histogram of the durations of jobs: bin `i` begins at 1.1^i seconds, and each job adds the weight 1. Older
 * jobs lose weight over time, so that the histogram adapts when an upstream becomes faster or slower.
 */
export interface Durations {
  /** Number of the bin to which the first entry of `weights` belongs. */
  readonly firstBin: number;
  /**
   * Weights of the bins from `firstBin` on: the number of jobs in each, of which older ones count less than
   * 1.
   */
  readonly weights: readonly number[];
}

/**
 * Range of the duration of a job, from its attachment to its end, in milliseconds; the exact time of the end
 * is often unknown.
 */
export interface EndRange {
  readonly minMs: number;
  readonly maxMs: number;
}

export const NO_DURATIONS: Durations = { firstBin: 0, weights: [] };

const SHORTEST_MS = SECOND_MS;
/** The longest duration that is counted, in milliseconds; a longer one counts as a fault of a clock. */
const LONGEST_MS = 72 * HOUR_MS;
const BIN_RATIO = 1.1;
/**
 * Largest ratio of the longest to the shortest duration that a job is counted with, when its exact duration
 * is unknown. The lower limit of a wider range is raised.
 */
const WIDEST_RATIO = 8;
/** Sum of the weights of all bins at which every weight is halved, so that older jobs count less. */
const MOST_WEIGHT = 200;
/** Smallest weight of a bin that is kept when the weights are halved; a bin with less is removed. */
const LEAST_WEIGHT = 0.01;
/** Smallest number of jobs from which durations are estimated. */
const FEWEST_JOBS = 10;
/**
 * Ten fractions of the earlier jobs, from 8 % to 95 %. A job is polled once at each age at which such a
 * fraction of the earlier jobs had ended.
 */
export const LEVELS = Array.from({ length: 10 }, (_, index) => 0.08 + (index * (0.95 - 0.08)) / 9);

/** Returns the sum of the weights of all bins: the number of jobs, of which older ones count less than 1. */
export function weightOf({ weights }: Durations): number {
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/**
 * Adds one job to a histogram. The weight of the job is spread evenly over the bins of the range in which it
 * ended. Counting the time of the poll that found the result instead, which is later than the end, would make
 * the polls of later jobs late too. A range that is impossible or too long changes nothing; a job that ended
 * before its attachment counts in the first bin.
 */
export function addDuration(durations: Durations, { minMs, maxMs }: EndRange): Durations {
  if (!(minMs <= maxMs && maxMs <= LONGEST_MS)) return durations;
  const last = binOf(maxMs);
  const first = binOf(Math.max(minMs, maxMs / WIDEST_RATIO));
  const share = 1 / (last - first + 1);
  const added = new Map(entriesOf(durations));
  for (let bin = first; bin <= last; bin++) added.set(bin, (added.get(bin) ?? 0) + share);
  return forgetting(added);
}

/**
 * Returns the durations, in milliseconds and ascending, within which 8 % to 95 % of the jobs ended: ten
 * quantiles at equal distances; none while fewer than ten jobs are known.
 */
export function likelyAges(durations: Durations): readonly number[] {
  const weight = weightOf(durations);
  // The shares of one job may add up to a little less than 1.
  return weight < FEWEST_JOBS - 0.5
    ? []
    : LEVELS.map((level) => quantile(durations, level * weight));
}

function quantile(durations: Durations, rank: number): number {
  let below = 0;
  for (const [bin, weight] of entriesOf(durations)) {
    if (below + weight >= rank) {
      return Math.round(SHORTEST_MS * BIN_RATIO ** (bin + (rank - below) / weight));
    }
    below += weight;
  }
  return Math.round(SHORTEST_MS * BIN_RATIO ** (durations.firstBin + durations.weights.length));
}

/**
 * Returns the number of the bin of the histogram that contains a duration in milliseconds; bin 0 also for
 * durations below one second and negative ones.
 */
function binOf(ms: number): number {
  return Math.floor(Math.log(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / Math.log(BIN_RATIO));
}

function entriesOf({ firstBin, weights }: Durations): readonly (readonly [number, number])[] {
  return weights.map((weight, index) => [firstBin + index, weight]);
}

/**
 * Builds a histogram of these bins. When their weights add up to `MOST_WEIGHT`, all are halved and the bins
 * with very little weight removed.
 */
function forgetting(bins: ReadonlyMap<number, number>): Durations {
  const weight = [...bins.values()].reduce((sum, each) => sum + each, 0);
  const factor = weight >= MOST_WEIGHT ? 0.5 : 1;
  const kept = [...bins].flatMap(([bin, each]) =>
    each * factor < LEAST_WEIGHT ? [] : [[bin, each * factor] as const],
  );
  const weights = new Map(kept);
  const numbers = [...weights.keys()];
  const firstBin = Math.min(...numbers);
  const length = Math.max(...numbers) - firstBin + 1;
  return {
    firstBin,
    weights: Array.from({ length }, (_, index) => rounded(weights.get(firstBin + index) ?? 0)),
  };
}

/** Rounds a weight to four decimals. */
function rounded(weight: number): number {
  return Math.round(weight * 10_000) / 10_000;
}
