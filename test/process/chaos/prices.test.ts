import { expect, it } from "vitest";
import { PRICES } from "./prices/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);

it("although the relay is repeatedly killed with kill -9, 2,000 tasks with prices by usage are charged for exactly the usage that their two upstreams have logged, 300 that customers submit while the prices of their offers change cost what the version of the offer says that they show, and another account spends no more than its monthly limit", async () => {
  const { counters, faults } = await runScenario(PRICES, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
