import { expect, it } from "vitest";
import { OUTPUTS } from "./outputs/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);

it("while the relay is killed with kill -9, each output of 300 tasks is kept once or reported as lost, and erased tasks leave nothing", async () => {
  const { counters, faults } = await runScenario(OUTPUTS, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
}, 1_200_000);
