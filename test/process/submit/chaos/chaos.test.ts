import { expect, it } from "vitest";
import { faultsIn } from "./submit-faults.ts";
import { unnoticedFaults } from "./submit-planted.ts";
import { runSubmitRound } from "./submit-round.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_126);
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

it("of 500 submissions through kill -9 at random moments none is sent twice, no accepted job is lost where hooks come, without hooks its task fails with submit_unknown, and every credit is accounted for", async () => {
  const { recording, counters } = await runSubmitRound(SEED, ORDERS);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faultsIn(recording)).toEqual([]);
  expect(counters.tooLow(LEAST)).toEqual([]);
  // The same checks find each fault that is planted into this recording.
  expect(unnoticedFaults(recording)).toEqual([]);
});
