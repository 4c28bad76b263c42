import { expect, it } from "vitest";
import { type QueueBug, queueScenario } from "./queue/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_129);
const KILLS = 30;
/** Most runs in which a control may show its fault, because a kill hits a call on its way only by chance. */
const CONTROL_RUNS = 3;

it("although the relay is repeatedly killed with kill -9, no key has more jobs in flight than its connection permits, no job is started twice, each task has one callback, and in the end all places are free and all credits accounted for", async () => {
  const { counters, faults } = await runScenario(queueScenario(KILLS), SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});

const BUGS: readonly (readonly [QueueBug, string, string])[] = [
  ["release_lost", "confirms releases that it has not stored", "places are left"],
  ["places_forgotten", "forgets at a restart who has a place", "jobs in flight at"],
  ["call_repeated", "sends a call again that a kill has interrupted", "a job was started twice"],
];

it.concurrent.each(BUGS)(
  "the checks notice a relay with the fault %s, which %s",
  async (bug, _, fault) => {
    const scenario = queueScenario(KILLS, bug);
    let faults = "";
    for (let run = 0; run < CONTROL_RUNS && !faults.includes(fault); run++) {
      const { recording } = await scenario.record(SEED + run);
      faults = scenario.faultsIn(recording).join("\n");
    }
    expect(faults).toContain(fault);
  },
);
