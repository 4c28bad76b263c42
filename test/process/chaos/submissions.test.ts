import { expect, it } from "vitest";
import { runScenario } from "./scenario.ts";
import { SUBMISSIONS } from "./submissions/scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_126);

it("of 650 submissions through kill -9 none is sent twice, no job is lost where hooks come, a caller that waits sees its job end, one that does not wait gets the image or its price back, and every credit and every file is accounted for", async () => {
  const { counters, faults } = await runScenario(SUBMISSIONS, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
