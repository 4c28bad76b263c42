import { expect, it } from "vitest";
import { chaos } from "./callbacks/scenario.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_121);
const MAX_ROUNDS = 3;

it("under load and repeated kill -9 of the relay, no accepted task is lost, no task is charged or refunded twice, and every task keeps its first result", async () => {
  const { faults } = await chaos(MAX_ROUNDS, { seed: SEED, print: console.log });
  expect(faults).toEqual([]);
});
