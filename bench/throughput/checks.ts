import { quantile } from "../figures.ts";
import { BUSY, CALM, CONTENDERS, type ContenderKey, type Place } from "./plan.ts";
import { type PlaceResult, roundsOf, roundByRound } from "./results.ts";
import type { ReadRound } from "./read-round.ts";
import type { Round } from "./round.ts";

/** Figure of the relay as a multiple of that of another server in the same round. */
interface Target {
  readonly what: string;
  readonly place: Place["key"];
  readonly other: ContenderKey;
  /** Value that the relay is to keep; null for a figure that only explains the others. */
  readonly limit: number | null;
  /** Better value than the limit that the relay is to reach one day; null for none. */
  readonly goal: number | null;
  /** True when smaller values are better. */
  readonly isCost: boolean;
  /** Returns one multiple for each round in which both servers were measured. */
  readonly multiples: Multiples;
}

type Multiples = (result: PlaceResult, own: ContenderKey, other: ContenderKey) => readonly number[];

/** Median and quartiles of the measurements of several rounds. */
interface Spread {
  readonly median: number;
  /** The first and the third quartile, between which half of the rounds lie. */
  readonly quartiles: readonly [number, number];
}

/** A target with its measured values. */
export interface Check extends Omit<Target, "multiples"> {
  readonly measured: Spread;
  /** The same figure of a second process of the relay as a multiple of the first one's; null when there is none. */
  readonly noise: Spread | null;
}

const TARGETS: readonly Target[] = [
  {
    what: "delivered/s, 32 connections",
    place: "tmpfs",
    other: "promises",
    limit: 0.85,
    goal: 0.9,
    isCost: false,
    multiples: ofTasks(BUSY, ({ deliveredPerS }) => deliveredPerS),
  },
  {
    what: "CPU time per task, 32 connections",
    place: "tmpfs",
    other: "promises",
    limit: null,
    goal: null,
    isCost: true,
    multiples: ofTasks(BUSY, ({ cpuMs }) => cpuMs),
  },
  {
    what: "callback p50, 1 connection",
    place: "tmpfs",
    other: "promises",
    limit: 1.1,
    goal: null,
    isCost: true,
    multiples: ofTasks(CALM, ({ callbackMs }) => quantile(callbackMs, 0.5)),
  },
  {
    what: "reads/s, 32 connections",
    place: "tmpfs",
    other: "promises",
    limit: 0.85,
    goal: null,
    isCost: false,
    multiples: ofReads(({ readsPerS }) => readsPerS),
  },
  {
    what: "CPU time per read, 32 connections",
    place: "tmpfs",
    other: "promises",
    limit: null,
    goal: null,
    isCost: true,
    multiples: ofReads(({ cpuMs }) => cpuMs),
  },
  {
    what: "delivered/s, 32 connections",
    place: "disk",
    other: "promises",
    limit: 0.95,
    goal: null,
    isCost: false,
    multiples: ofTasks(BUSY, ({ deliveredPerS }) => deliveredPerS),
  },
  ...(["acceptMs", "callbackMs"] as const).map((times): Target => ({
    what: `${times === "acceptMs" ? "accept" : "callback"} p50, 1 connection`,
    place: "tmpfs",
    other: "headless",
    limit: 1.05,
    goal: null,
    isCost: true,
    multiples: ofTasks(CALM, (round) => quantile(round[times], 0.5)),
  })),
];

/** Processes of the same relay. What is measured of it is measured of both, because each differs a little by chance. */
const RELAY: readonly ContenderKey[] = ["event", "twin"];

/** Compares the relay with the servers of its targets in every respect that was measured. */
export function checksOf(places: readonly PlaceResult[]): readonly Check[] {
  return TARGETS.flatMap(({ multiples, ...target }) => {
    const results = places.filter(({ place }) => place.key === target.place);
    const measured = results.flatMap((result) =>
      RELAY.flatMap((own) => multiples(result, own, target.other)),
    );
    const noise = results.flatMap((result) => multiples(result, "twin", "event"));
    if (measured.length === 0) return [];
    return [
      { ...target, measured: spreadOf(measured), noise: noise.length ? spreadOf(noise) : null },
    ];
  });
}

/** Tells whether a check keeps its limit; one without a limit does. */
export function isKept(check: Check): boolean {
  return check.limit === null || reaches(check, check.limit);
}

/** Returns a Markdown item that states a figure, its limit and its goal, whether it keeps them, and its noise. */
export function checkLine(check: Check): string {
  const { what, place, other, limit, goal, isCost, measured, noise } = check;
  const bound = isCost ? "at most" : "at least";
  const verdict = limit === null ? "" : isKept(check) ? "pass: " : "**fail**: ";
  const must = limit === null ? "" : `, must be ${bound} ${limit.toFixed(2)}`;
  const reached = goal !== null && reaches(check, goal) ? "reached" : "not reached";
  const aim = goal === null ? "" : `; goal ${goal.toFixed(2)}: ${reached}`;
  const again = noise === null ? "" : `; ${CONTENDERS.twin}: ${shown(noise)}`;
  return `- ${verdict}${what} (${place}): ${shown(measured)} that of the ${CONTENDERS[other]}${must}${aim}${again}`;
}

function reaches({ measured, isCost }: Check, bound: number): boolean {
  return isCost ? measured.median <= bound : measured.median >= bound;
}

function shown({ median, quartiles }: Spread): string {
  const [from, to] = quartiles.map((each) => each.toFixed(2));
  return `${median.toFixed(2)} × (${from} to ${to})`;
}

function spreadOf(values: readonly number[]): Spread {
  const quartiles = [quantile(values, 0.25), quantile(values, 0.75)] as const;
  return { median: quantile(values, 0.5), quartiles };
}

function ofTasks(connections: number, figure: (round: Round) => number): Multiples {
  return ({ series }, own, other) =>
    roundByRound(
      roundsOf(series, own, connections),
      roundsOf(series, other, connections),
      (mine, theirs) => figure(mine) / figure(theirs),
    );
}

function ofReads(figure: (round: ReadRound) => number): Multiples {
  return ({ reads }, own, other) => {
    const of = (contender: ContenderKey) =>
      reads.find((each) => each.contender === contender)?.rounds ?? [];
    return roundByRound(of(own), of(other), (mine, theirs) => figure(mine) / figure(theirs));
  };
}
