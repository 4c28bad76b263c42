import { expect, it } from "vitest";
import { chaos } from "./chaos.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_121);

it("the relay loses nothing, doubles nothing and settles every task under load and kill -9", async () => {
  expect(await chaos({ minutes: 2, seed: SEED, print: console.log })).toEqual([]);
});
