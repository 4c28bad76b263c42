import { bundleOf } from "../../harness/workerd.ts";
import { Counters } from "../counters.ts";
import { type ChaosReport, type Judge, judged } from "../scenario.ts";
import { faultsIn } from "./judge.ts";
import { killAtRandom, SHORT_WATCHDOG } from "./kills.ts";
import { leastPlaces } from "../planting.ts";
import { planOf } from "./plan.ts";
import { PLANTED_FAULTS } from "./planted.ts";
import type { Recording } from "./recording.ts";
import { recordRound, type RoundOptions } from "./round.ts";

/** Length of a round, within the five minutes for which a signature can be verified. */
const ROUND_S = 120;
/** Time in seconds that a round needs besides the load, to start and to wait until nothing is due. */
const TAIL_S = 30;
const PARALLEL = 90;

/**
 * Smallest figures that a run of two minutes must reach to prove anything; an idle machine reaches ten times
 * as much.
 */
const LEAST_IN_TWO_MINUTES = {
  kills: 10,
  "restarts with a short watchdog": 2,
  tasks: 200,
  POSTs: 200,
  "requests repeated": 50,
  "interrupted attempts, number 1": 10,
  "interrupted attempts, number 2": 10,
  "interrupted attempts, number 3": 10,
  "attempts delivered": 20,
  "series ordered": 1,
  "endings refused": 1,
  "tasks refused": 1,
  "ended by event": 50,
  "ended by cancel": 5,
  "ended by deadline": 1,
  "ended by hook": 5,
  "hooks forged": 1,
  "hooks contradicting": 1,
  "polls answered": 1,
  "charges interrupted": 1,
  "refunds interrupted": 1,
};

/** What must hold after a round of tasks. */
const TASKS: Judge<Recording> = { faultsIn, planted: PLANTED_FAULTS };

export interface ChaosOptions {
  readonly minutes: number;
  /** Seed of the first round; each further round has the next one. */
  readonly seed: number;
  readonly print: (line: string) => void;
}

export interface RoundsOptions {
  /** Number of rounds, and when each has started enough tasks. */
  readonly length: RoundsLength;
  readonly seed: number;
  readonly print: (line: string) => void;
  readonly roundOf: (seed: number) => Omit<RoundOptions, "seed" | "isEnough">;
}

export interface RoundsLength {
  readonly rounds: number;
  readonly isEnough: RoundOptions["isEnough"];
}

/**
 * Runs rounds of tasks of two minutes each, without submissions and outputs, until they have met enough to prove
 * anything, which takes more than one on a busy machine.
 */
export async function chaos(
  maxRounds: number,
  { seed, print }: Omit<ChaosOptions, "minutes">,
): Promise<ChaosReport> {
  const minutes = ROUND_S / 60;
  const total = new Counters();
  let low: readonly string[] = ["no round was run"];
  for (let nth = 0; nth < maxRounds && low.length > 0; nth++) {
    const { counters, faults } = await taskRounds({ minutes, seed: seed + nth, print });
    total.addAll(counters);
    if (faults.length > 0) return { counters: total, faults };
    low = lowTaskFigures(total, minutes);
  }
  return { counters: total, faults: low };
}

/** Runs rounds of tasks, up to the first one with faults. */
export async function taskRounds({ minutes, seed, print }: ChaosOptions): Promise<ChaosReport> {
  // The relay is bundled before the load, so that no restart waits for the bundler.
  await bundleOf(SHORT_WATCHDOG);
  return runRounds({
    length: lengthOf(minutes),
    seed,
    print,
    roundOf: () => ({ parallel: PARALLEL, planOf, disturb: killAtRandom }),
  });
}

/** Lists the figures of rounds of tasks that are too low to prove anything. */
export function lowTaskFigures(counters: Counters, minutes: number): readonly string[] {
  const share = Math.min(1, minutes / 2);
  const least = Object.entries(LEAST_IN_TWO_MINUTES).map(([name, count]): [string, number] => {
    return [name, Math.floor(count * share)];
  });
  return counters.tooLow({ ...Object.fromEntries(least), ...leastPlaces(PLANTED_FAULTS) });
}

/** Divides a time into rounds. */
export function lengthOf(minutes: number): RoundsLength {
  const rounds = Math.ceil((minutes * 60) / ROUND_S);
  const loadMs = Math.max(5, (minutes * 60) / rounds - TAIL_S) * 1000;
  return { rounds, isEnough: (_, elapsedMs) => elapsedMs > loadMs };
}

/**
 * Runs rounds, each with storage of its own, up to the first one with faults, and prints their figures.
 * After a round without faults, each planted fault that has a place in what the round has recorded must be noticed.
 * @returns the faults, and the figures of all rounds.
 */
export async function runRounds({
  length: { rounds, isEnough },
  seed,
  print,
  roundOf,
}: RoundsOptions): Promise<ChaosReport> {
  const total = new Counters();
  for (let nth = 0; nth < rounds; nth++) {
    const round = { ...roundOf(seed + nth), seed: seed + nth, isEnough };
    const { counters, recording } = await recordRound(round);
    total.addAll(counters);
    const faults = judged(TASKS, recording, total);
    const figures = `${counters.of("tasks")} tasks, ${counters.of("kills")} kills`;
    print(`seed ${seed + nth}: ${figures}, ${faults.length} faults`);
    if (faults.length > 0) return { counters: total, faults };
  }
  print(total.toString());
  return { counters: total, faults: [] };
}
