import { quantile } from "../figures.ts";
import { BUSY, CALM, type Place } from "./plan.ts";
import { type PlaceResult, type ReadSeries, roundsOf, turnByTurn } from "./results.ts";
import type { ReadRound } from "./read-round.ts";
import type { Round } from "./round.ts";

/**
 * Condition on a figure of the relay, relative to that of another server in the same turn, e.g. of the bare Worker
 * (`floor`).
 */
interface Target {
  readonly what: string;
  readonly place: Place["key"];
  readonly limit: number;
  /** Better value than the limit that the relay is to reach one day; null for none. */
  readonly goal: number | null;
  /** True when smaller values are better. */
  readonly isCost: boolean;
  readonly unit: "ms" | "×";
  /** Returns one value per turn. */
  readonly values: (result: PlaceResult) => readonly number[];
}

/** A condition with the median of its measured values. */
export interface Check extends Omit<Target, "values"> {
  readonly value: number;
}

const TARGETS: readonly Target[] = [
  {
    what: "CPU time per task above the floor, 32 connections",
    place: "tmpfs",
    limit: 0.45,
    goal: 0.25,
    isCost: true,
    unit: "ms",
    values: (result) => compared(result, BUSY, (relay, floor) => relay.cpuMs - floor.cpuMs),
  },
  {
    what: "delivered/s as a part of the floor's, 32 connections",
    place: "tmpfs",
    limit: 0.77,
    goal: 0.85,
    isCost: false,
    unit: "×",
    values: (result) => compared(result, BUSY, deliveredRatio),
  },
  {
    what: "delivered/s as a part of the floor's, 32 connections",
    place: "disk",
    limit: 0.9,
    goal: null,
    isCost: false,
    unit: "×",
    values: (result) => compared(result, BUSY, deliveredRatio),
  },
  {
    what: "callback p50 as a multiple of the floor's, 1 connection",
    place: "tmpfs",
    limit: 1.35,
    goal: null,
    isCost: true,
    unit: "×",
    values: (result) =>
      compared(result, CALM, (relay, floor) => callbackP50(relay) / callbackP50(floor)),
  },
  {
    what: "reads/s as a part of those of a bare object, 32 connections",
    place: "tmpfs",
    limit: 0.85,
    goal: null,
    isCost: false,
    unit: "×",
    values: ({ reads }) => {
      const [relay, floor] = [readsOf(reads, "event"), readsOf(reads, "floor")];
      return turnByTurn(relay, floor, (own, bare) => own.readsPerS / bare.readsPerS);
    },
  },
  ...(["acceptMs", "callbackMs"] as const).map((times): Target => ({
    what: `${times === "acceptMs" ? "accept" : "callback"} p50 as a multiple of that of a relay without console and documentation, 1 connection`,
    place: "tmpfs",
    limit: 1.05,
    goal: null,
    isCost: true,
    unit: "×",
    values: ({ series }) =>
      turnByTurn(
        roundsOf(series, "event", CALM),
        roundsOf(series, "headless", CALM),
        (whole, headless) => quantile(whole[times], 0.5) / quantile(headless[times], 0.5),
      ),
  })),
];

/** Compares the relay with the servers of its targets in every respect that was measured. */
export function checksOf(places: readonly PlaceResult[]): readonly Check[] {
  return TARGETS.flatMap(({ values, ...target }) => {
    const measured = places.filter(({ place }) => place.key === target.place).flatMap(values);
    return measured.length === 0 ? [] : [{ ...target, value: quantile(measured, 0.5) }];
  });
}

/** Tells whether a value satisfies a limit or goal. */
export function keeps({ value, isCost }: Check, limit: number): boolean {
  return isCost ? value <= limit : value >= limit;
}

/**
 * Returns a Markdown item that states a value, its limit and its goal, and whether the value satisfies them.
 */
export function checkLine(check: Check): string {
  const { what, place, limit, goal, isCost, unit, value } = check;
  const shown = (number: number) => `${number.toFixed(2)} ${unit}`;
  const bound = isCost ? "at most" : "at least";
  const verdict = keeps(check, limit) ? "pass" : "**fail**";
  const reached = goal !== null && keeps(check, goal) ? "reached" : "not reached";
  const aim = goal === null ? "" : `; goal ${shown(goal)}: ${reached}`;
  return `- ${verdict}: ${what} (${place}): ${shown(value)}, ${bound} ${shown(limit)}${aim}`;
}

/**
 * Compares the rounds of the relay without registration (`event`) with those of the bare Worker in the same
 * turns.
 */
function compared(
  { series }: PlaceResult,
  connections: number,
  compare: (relay: Round, floor: Round) => number,
): readonly number[] {
  const relay = roundsOf(series, "event", connections);
  return turnByTurn(relay, roundsOf(series, "floor", connections), compare);
}

function readsOf(
  reads: readonly ReadSeries[],
  contender: ReadSeries["contender"],
): readonly ReadRound[] {
  return reads.find((each) => each.contender === contender)?.rounds ?? [];
}

function deliveredRatio(relay: Round, floor: Round): number {
  return relay.deliveredPerS / floor.deliveredPerS;
}

function callbackP50({ callbackMs }: Round): number {
  return quantile(callbackMs, 0.5);
}
