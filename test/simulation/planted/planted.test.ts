import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { BUGS } from "./bugs.ts";
import { findBugs } from "./mutated-copy.ts";

it("the simulation finds every bug that is planted into a copy of the sources", async () => {
  expect(BUGS.length).toBeGreaterThanOrEqual(101);
  const simulation = { seed: 1, lives: 50_000, threads: availableParallelism() };
  const found = await findBugs(BUGS, simulation, () => {});
  const survivors = BUGS.filter((bug) => found.get(bug) === null).map(({ what }) => what);
  expect(survivors).toEqual([]);
  expect(found.size).toBe(BUGS.length);
});
