import { expect, it } from "vitest";
import { BUGS } from "./bugs.ts";
import { FIXED } from "./fixed-seeds.ts";
import { findBugs, isFound, requireControl } from "./mutated-copy.ts";

const [first] = BUGS;

it("the unchanged program breaks no promise in the lives in which planted bugs are hunted", async () => {
  await requireControl(FIXED);
});

it("the control of the planted bugs fails for a program that breaks a promise", async () => {
  await expect(requireControl(FIXED, first)).rejects.toThrow(/breaks a promise in life \d+/);
});

it("the simulation finds every planted bug within 5,000 lives from each of three seeds", async () => {
  expect(BUGS.length).toBeGreaterThanOrEqual(101);
  const found = await findBugs(BUGS, FIXED, () => {});
  const survivors = BUGS.filter((bug) => !isFound(found.get(bug) ?? [])).map(({ what }) => what);
  expect(survivors).toEqual([]);
});
