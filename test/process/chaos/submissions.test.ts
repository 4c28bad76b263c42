import { expect, it } from "vitest";
import { runScenario } from "./scenario.ts";
import { SUBMISSIONS } from "./submissions/scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_126);

it("although the relay is repeatedly killed with kill -9, none of 500 submissions is sent twice, no job of an upstream with hooks is lost, and all credits add up", async () => {
  const { counters, faults } = await runScenario(SUBMISSIONS, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
