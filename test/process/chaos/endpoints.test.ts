import { expect, it } from "vitest";
import { ENDPOINTS } from "./endpoints/scenario.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_130);

it("although endpoints are changed, rotated and deleted, hosts paused and resumed, and the relay repeatedly killed with kill -9, each task keeps its copy of the endpoint, a redelivery goes to the endpoint as it is, nothing is sent to a paused host, and no callback is lost", async () => {
  const { counters, faults } = await runScenario(ENDPOINTS, SEED);
  console.log(`seed ${SEED}\n${counters.toString()}`);
  expect(faults).toEqual([]);
});
