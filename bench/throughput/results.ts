import { quantile } from "../figures.ts";
import type { ContenderKey, Place } from "./plan.ts";
import type { ReadRound } from "./read-round.ts";
import type { Round } from "./round.ts";

/** Measurements of one server in one round of a load. */
export type InRound<T> = T & {
  /** Number of the round, counted from 0. Not every server is measured in every round. */
  readonly number: number;
};

/** The rounds of one server under one load, in the order of the run. */
export interface Series {
  readonly contender: ContenderKey;
  readonly connections: number;
  readonly rounds: readonly InRound<Round>[];
}

/** The rounds of reads of one server. */
export interface ReadSeries {
  readonly contender: ContenderKey;
  readonly rounds: readonly InRound<ReadRound>[];
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
): readonly InRound<Round>[] {
  const found = series.find(
    (each) => each.contender === contender && each.connections === connections,
  );
  return found?.rounds ?? [];
}

/** Compares what was measured of two servers in the same round, for each round in which both were measured. */
export function roundByRound<T>(
  own: readonly InRound<T>[],
  others: readonly InRound<T>[],
  compare: (own: T, other: T) => number,
): readonly number[] {
  const byNumber = new Map(others.map((other) => [other.number, other]));
  return own.flatMap((each) => {
    const other = byNumber.get(each.number);
    return other === undefined ? [] : [compare(each, other)];
  });
}
