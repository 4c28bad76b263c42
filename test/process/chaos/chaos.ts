import { bundleOf } from "../harness/workerd.ts";
import { Counters } from "./counters.ts";
import { killAtRandom, SHORT_WATCHDOG } from "./kills.ts";
import { unnoticedFaults } from "./planted-faults.ts";
import { planOf } from "./plan.ts";
import { runRound } from "./round.ts";

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

export interface ChaosOptions {
  readonly minutes: number;
  /** Seed of the first round; each further round has the next one. */
  readonly seed: number;
  readonly print: (line: string) => void;
}

/**
 * Runs rounds of load and kills, each with storage of its own, up to the first one with faults.
 * After a round without faults, each of `PLANTED_FAULTS` must be noticed in what the round has recorded.
 * @returns the faults, or the figures that are too low to prove anything.
 */
export async function chaos({ minutes, seed, print }: ChaosOptions): Promise<readonly string[]> {
  print(`${minutes} minutes, seed ${seed}`);
  // The relay is bundled before the load, so that no restart waits for the bundler.
  await bundleOf(SHORT_WATCHDOG);
  const rounds = Math.ceil((minutes * 60) / ROUND_S);
  const loadMs = Math.max(5, (minutes * 60) / rounds - TAIL_S) * 1000;
  const total = new Counters();
  for (let nth = 0; nth < rounds; nth++) {
    const { counters, recording, faults } = await runRound({
      seed: seed + nth,
      isEnough: (_, elapsedMs) => elapsedMs > loadMs,
      parallel: PARALLEL,
      planOf,
      disturb: killAtRandom,
    });
    total.addAll(counters);
    const figures = `${counters.of("tasks")} tasks, ${counters.of("kills")} kills`;
    print(`seed ${seed + nth}: ${figures}, ${faults.length} faults`);
    if (faults.length > 0) return faults;
    const unnoticed = unnoticedFaults(recording);
    if (unnoticed.length > 0) return unnoticed;
  }
  print(total.toString());
  const share = Math.min(1, minutes / 2);
  const least = Object.entries(LEAST_IN_TWO_MINUTES).map(([name, count]): [string, number] => {
    return [name, Math.floor(count * share)];
  });
  return total.tooLow(Object.fromEntries(least));
}
