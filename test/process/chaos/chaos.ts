import { chaosRound } from "./round.ts";
import { Tally } from "./counters.ts";

/** Signatures are to be checked within five minutes, and what is remembered is to stay small. */
const ROUND_S = 120;
/** The silence at the end of a round, and what it takes to start and to judge. */
const TAIL_S = 30;

export interface ChaosPlan {
  readonly minutes: number;
  /** Of the first round; each further one has the next. */
  readonly seed: number;
  readonly say?: (line: string) => void;
}

export interface ChaosReport {
  readonly tally: Tally;
  /** Contradictions to the promises; and where it was no test, that too. */
  readonly faults: readonly string[];
}

/**
 * Everything the relay can do, under load, while it is killed again and again. In rounds with storage of
 * their own; ends after the first one with faults.
 */
export async function chaos({ minutes, seed, say = () => {} }: ChaosPlan): Promise<ChaosReport> {
  const rounds = Math.ceil((minutes * 60) / ROUND_S);
  const loadMs = Math.max(5, (minutes * 60) / rounds - TAIL_S) * 1000;
  const tally = new Tally();
  for (let nth = 0; nth < rounds; nth++) {
    const round = await chaosRound({ seed: seed + nth, loadMs });
    tally.addAll(round.tally);
    const counts = `${round.tally.of("tasks")} tasks, ${round.tally.of("kills")} kills`;
    say(`seed ${seed + nth}: ${counts}, ${round.faults.length} faults`);
    if (round.faults.length > 0) return { tally, faults: round.faults };
  }
  return { tally, faults: tally.idle(minutes) };
}
