import { Counters } from "./counters.ts";
import { leastPlaces, type PlantedFault, unnoticedFaults } from "./planting.ts";

const MAX_RUNS = 2;

/** What a run has shown: its figures, and what was wrong or too low to prove anything. */
export interface ChaosReport {
  readonly counters: Counters;
  readonly faults: readonly string[];
}

/** What a run has recorded, and its figures. */
export interface Recorded<Recording> {
  readonly recording: Recording;
  readonly counters: Counters;
}

/** What a recording must show, and the proof that the checks would notice it if it did not. */
export interface Judge<Recording> {
  /** Lists what in a recording contradicts the promises. */
  readonly faultsIn: (recording: Recording) => readonly string[];
  /** Faults that are planted into a recording without faults, each of which the checks must notice. */
  readonly planted: readonly PlantedFault<Recording>[];
}

/** A way to load a relay while it is killed with `kill -9`, and what must hold afterwards. */
export interface Scenario<Recording> extends Judge<Recording> {
  /** Loads and kills a relay, waits until nothing is due, and records what all who took part know. */
  readonly record: (seed: number) => Promise<Recorded<Recording>>;
  /** Smallest figures with which a run proves something. */
  readonly least: Readonly<Record<string, number>>;
}

/**
 * Lists the faults in a recording or, when it has none, the planted faults that the checks do not notice in it.
 * @param counters figures, to which the planted faults are added by their names.
 */
export function judged<Recording>(
  judge: Judge<Recording>,
  recording: Recording,
  counters: Counters,
): readonly string[] {
  const faults = judge.faultsIn(recording);
  return faults.length > 0 ? faults : unnoticedFaults(judge, recording, counters);
}

/** Runs a scenario, and once more when its figures prove nothing, because a busy machine does less in the same time. */
export async function runScenario<Recording>(
  scenario: Scenario<Recording>,
  seed: number,
): Promise<ChaosReport> {
  const counters = new Counters();
  let low: readonly string[] = [];
  for (let run = 0; run < MAX_RUNS; run++) {
    const recorded = await scenario.record(seed + run);
    counters.addAll(recorded.counters);
    const faults = judged(scenario, recorded.recording, counters);
    if (faults.length > 0) {
      return { counters, faults: faults.map((fault) => `seed ${seed + run}: ${fault}`) };
    }
    low = counters.tooLow({ ...scenario.least, ...leastPlaces(scenario.planted) });
    if (low.length === 0) break;
  }
  return { counters, faults: low };
}
