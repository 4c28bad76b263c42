import type { ChaosReport } from "../../chaos/counters.ts";
import { faultsIn } from "./submit-faults.ts";
import { unnoticedFaults } from "./submit-planted.ts";
import { runSubmitRound } from "./submit-round.ts";

const ORDERS = 500;
/** Smallest figures with which the run proves something. */
const LEAST = {
  kills: 12,
  completed: 150,
  "answers after a repetition": 50,
  "answers of the upstream repeated": 2,
  "answers 400": 5,
  "found by a hook": 20,
  "lost without hooks": 10,
  refunds: 20,
};

/**
 * Runs 500 submissions through `kill -9`. The faults also name each fault that the checks do not notice when it is
 * planted into what the run has recorded.
 */
export async function submitChaos(seed: number): Promise<ChaosReport> {
  const { recording, counters } = await runSubmitRound(seed, ORDERS);
  const faults = [...faultsIn(recording), ...unnoticedFaults(recording), ...counters.tooLow(LEAST)];
  return { counters, faults };
}
