import { quantile } from "../figures.ts";
import type { ContenderKey, Place } from "./plan.ts";
import type { ReadRound, Round } from "./round.ts";

/** The rounds of one server under one load, in the order of the run. */
export interface Series {
  readonly contender: ContenderKey;
  readonly connections: number;
  readonly rounds: readonly Round[];
}

/** The rounds of reads of one server. */
export interface ReadSeries {
  readonly contender: "floor" | "event";
  readonly rounds: readonly ReadRound[];
}

/** What was measured at one place. */
export interface PlaceResult {
  readonly place: Place;
  readonly series: readonly Series[];
  readonly reads: readonly ReadSeries[];
}

/** Returns the median of one figure of the rounds. */
export function median<T>(rounds: readonly T[], figure: (round: T) => number): number {
  return quantile(rounds.map(figure), 0.5);
}

/** Returns a quantile of the latencies of all rounds together. */
export function latency<T>(
  rounds: readonly T[],
  latencies: (round: T) => readonly number[],
  q: number,
): number {
  return quantile(rounds.flatMap(latencies), q);
}
