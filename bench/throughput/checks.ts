import { quantile } from "../figures.ts";
import { BUSY, CALM, type ContenderKey, type Place } from "./plan.ts";
import type { PlaceResult, ReadSeries } from "./results.ts";
import type { ReadRound, Round } from "./round.ts";

/** Condition of the relay's speed, measured against the floor in the same turn. */
interface Target {
  readonly what: string;
  readonly place: Place["key"];
  readonly limit: number;
  /** Value beyond the limit that is aimed at; null for none. */
  readonly goal: number | null;
  /** True when smaller values are better. */
  readonly isCost: boolean;
  readonly unit: "ms" | "×";
  /** Returns one value per turn. */
  readonly values: (result: PlaceResult) => readonly number[];
}

/** Target with the median of its values. */
export interface Check extends Omit<Target, "values"> {
  readonly value: number;
}

const TARGETS: readonly Target[] = [
  {
    what: "CPU time per task above the floor",
    place: "tmpfs",
    limit: 0.45,
    goal: 0.25,
    isCost: true,
    unit: "ms",
    values: (result) => compared(result, BUSY, (relay, floor) => relay.cpuMs - floor.cpuMs),
  },
  {
    what: "delivered/s, of the floor",
    place: "tmpfs",
    limit: 0.77,
    goal: 0.85,
    isCost: false,
    unit: "×",
    values: (result) => compared(result, BUSY, deliveredRatio),
  },
  {
    what: "delivered/s, of the floor",
    place: "disk",
    limit: 0.9,
    goal: null,
    isCost: false,
    unit: "×",
    values: (result) => compared(result, BUSY, deliveredRatio),
  },
  {
    what: "calm callback p50, of the floor",
    place: "tmpfs",
    limit: 1.35,
    goal: null,
    isCost: true,
    unit: "×",
    values: (result) =>
      compared(result, CALM, (relay, floor) => callbackP50(relay) / callbackP50(floor)),
  },
  {
    what: "reads/s, of reads of a bare object",
    place: "tmpfs",
    limit: 0.85,
    goal: null,
    isCost: false,
    unit: "×",
    values: ({ reads }) => {
      const [relay, floor] = [readsOf(reads, "event"), readsOf(reads, "floor")];
      return paired(relay, floor, (own, bare) => own.readsPerS / bare.readsPerS);
    },
  },
];

/** Compares the relay with the floor in every respect that was measured. */
export function checksOf(places: readonly PlaceResult[]): readonly Check[] {
  return TARGETS.flatMap(({ values, ...target }) => {
    const measured = places.filter(({ place }) => place.key === target.place).flatMap(values);
    return measured.length === 0 ? [] : [{ ...target, value: quantile(measured, 0.5) }];
  });
}

/** Tells whether the value keeps the limit or reaches the goal. */
export function keeps({ value, isCost }: Check, limit: number): boolean {
  return isCost ? value <= limit : value >= limit;
}

/** Compares the rounds of the relay, event only, with those of the floor in the same turns. */
function compared(
  { series }: PlaceResult,
  connections: number,
  compare: (relay: Round, floor: Round) => number,
): readonly number[] {
  const roundsOf = (contender: ContenderKey) =>
    series.find((each) => each.contender === contender && each.connections === connections)
      ?.rounds ?? [];
  return paired(roundsOf("event"), roundsOf("floor"), compare);
}

function readsOf(
  reads: readonly ReadSeries[],
  contender: ReadSeries["contender"],
): readonly ReadRound[] {
  return reads.find((each) => each.contender === contender)?.rounds ?? [];
}

function paired<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (left: T, right: T) => number,
): readonly number[] {
  return left.flatMap((each, index) => {
    const other = right[index];
    return other === undefined ? [] : [compare(each, other)];
  });
}

function deliveredRatio(relay: Round, floor: Round): number {
  return relay.deliveredPerS / floor.deliveredPerS;
}

function callbackP50({ callbackMs }: Round): number {
  return quantile(callbackMs, 0.5);
}
