import { HOUR_MS, SECOND_MS } from "../time.ts";

/**
 * Histogram of the durations of jobs, with bins of equal ratio: bin `i` begins at 1.1^i seconds. It weighs
 * each job with 1 and forgets slowly, so that it follows an upstream that becomes faster or slower.
 */
export interface Durations {
  /** Number of the first bin that is listed. */
  readonly firstBin: number;
  /** Weight of each bin from `firstBin` on. */
  readonly weights: readonly number[];
}

/** Range in milliseconds, counted from its attachment, in which a job ended. */
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
 * Ratio of the longest to the shortest duration over which the weight of one job is spread. A longer range
 * says nothing about short durations.
 */
const WIDEST_RATIO = 8;
/** Weight of all bins at which all are halved. */
const MOST_WEIGHT = 200;
/** Weight of one bin, after a halving, below which it is dropped. */
const LEAST_WEIGHT = 0.01;
/** Number of jobs below which a histogram tells nothing. */
const FEWEST_JOBS = 10;
/** The fractions of jobs at whose durations a job is polled: ten from 8 % to 95 %. */
export const LEVELS = Array.from({ length: 10 }, (_, index) => 0.08 + (index * (0.95 - 0.08)) / 9);

/** Returns the weight of all jobs in a histogram. */
export function weightOf({ weights }: Durations): number {
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/**
 * Adds one job. Its weight is spread evenly over the bins of the range in which it ended: the time at which a
 * poll has found the result is later than the end, and would make every later poll late too. A range that
 * cannot be true changes nothing, except that a job that ended before its attachment counts as short.
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
    if (weight > 0 && below + weight >= rank) {
      return Math.round(SHORTEST_MS * BIN_RATIO ** (bin + (rank - below) / weight));
    }
    below += weight;
  }
  return Math.round(SHORTEST_MS * BIN_RATIO ** (durations.firstBin + durations.weights.length));
}

/** Returns the bin of a duration in milliseconds; the first one for shorter durations, also negative ones. */
function binOf(ms: number): number {
  return Math.floor(Math.log(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / Math.log(BIN_RATIO));
}

function entriesOf({ firstBin, weights }: Durations): readonly (readonly [number, number])[] {
  return weights.map((weight, index) => [firstBin + index, weight]);
}

/** Builds a histogram of these bins; when they weigh too much, all are halved and the lightest dropped. */
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
