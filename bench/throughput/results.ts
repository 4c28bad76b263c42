import { quantile } from "../figures.ts";
import type { ContenderKey, Place } from "./plan.ts";
import type { ReadRound } from "./read-round.ts";
import type { Round } from "./round.ts";

/** The rounds of one server under one load, in the order of the run. */
export interface Series {
  readonly contender: ContenderKey;
  readonly connections: number;
  readonly rounds: readonly Round[];
}

/** The rounds of reads of one server. */
export interface ReadSeries {
  readonly contender: ContenderKey;
  readonly rounds: readonly ReadRound[];
}

/** Measurements at one place. */
export interface PlaceResult {
  readonly place: Place;
  readonly series: readonly Series[];
  readonly reads: readonly ReadSeries[];
}

/**
 * Returns the medians of the figures of all rounds, the quantiles of all their latencies, and the sums of
 * lost, doubled and refused tasks.
 */
export function figuresOf(rounds: readonly Round[]) {
  const sum = (count: (round: Round) => number) =>
    rounds.reduce((total, round) => total + count(round), 0);
  return {
    acceptedPerS: median(rounds, ({ acceptedPerS }) => acceptedPerS),
    deliveredPerS: median(rounds, ({ deliveredPerS }) => deliveredPerS),
    acceptP50Ms: quantileOf(rounds, ({ acceptMs }) => acceptMs, 0.5),
    acceptP99Ms: quantileOf(rounds, ({ acceptMs }) => acceptMs, 0.99),
    callbackP50Ms: quantileOf(rounds, ({ callbackMs }) => callbackMs, 0.5),
    callbackP99Ms: quantileOf(rounds, ({ callbackMs }) => callbackMs, 0.99),
    cpuMs: median(rounds, ({ cpuMs }) => cpuMs),
    lost: sum(({ lost }) => lost),
    doubled: sum(({ doubled }) => doubled),
    refused: sum(({ refused }) => refused),
  };
}

/** Returns the median of one figure of the rounds. */
export function median<T>(rounds: readonly T[], figure: (round: T) => number): number {
  return quantile(rounds.map(figure), 0.5);
}

/** Returns a quantile of the latencies of all rounds together. */
export function quantileOf<T>(
  rounds: readonly T[],
  latencies: (round: T) => readonly number[],
  q: number,
): number {
  return quantile(rounds.flatMap(latencies), q);
}

/** Returns the rounds of one server under one load; none when it was not measured. */
export function roundsOf(
  series: readonly Series[],
  contender: ContenderKey,
  connections: number,
): readonly Round[] {
  const found = series.find(
    (each) => each.contender === contender && each.connections === connections,
  );
  return found?.rounds ?? [];
}

/** Compares each round with the round of another server in the same turn. */
export function turnByTurn<T>(
  own: readonly T[],
  others: readonly T[],
  compare: (own: T, other: T) => number,
): readonly number[] {
  return own.flatMap((each, index) => {
    const other = others[index];
    return other === undefined ? [] : [compare(each, other)];
  });
}
