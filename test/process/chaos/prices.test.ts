import { expect, it } from "vitest";
import { PRICES } from "./prices/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);

it("through kill -9 again and again, 2,000 tasks with prices by usage cost what the logs of their two upstreams say, to the credit", async () => {
  const { counters, faults } = await runScenario(PRICES, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
