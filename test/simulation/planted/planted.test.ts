import { expect, it } from "vitest";
import { BUGS } from "./bugs.ts";
import { FIXED } from "./fixed-seeds.ts";
import { findBugs, isFound, requireControl } from "./mutated-copy.ts";

const [first] = BUGS;

it("in the simulated tasks that serve to find bugs planted in the relay, the relay without a planted bug breaks no promise", async () => {
  await requireControl(FIXED);
});

it("the check that a relay without planted bugs breaks no promise fails when it is run on a relay with a planted bug", async () => {
  await expect(requireControl(FIXED, first)).rejects.toThrow(/breaks a promise in life \d+/);
});

it("the simulation finds every bug that is planted in the relay within 5,000 simulated tasks, from each of three seeds", async () => {
  expect(BUGS.length).toBeGreaterThanOrEqual(101);
  const found = await findBugs(BUGS, FIXED, () => {});
  const survivors = BUGS.filter((bug) => !isFound(found.get(bug) ?? [])).map(({ what }) => what);
  expect(survivors).toEqual([]);
});
