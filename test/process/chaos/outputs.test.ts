import { expect, it } from "vitest";
import { OUTPUTS } from "./outputs/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);

it("although the relay is repeatedly killed with kill -9, the outputs of 300 tasks are each copied once or reported as lost, and erased tasks leave nothing", async () => {
  const { counters, faults } = await runScenario(OUTPUTS, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
