import { expect, it } from "vitest";
import { BUGS, QUEUE_BUGS } from "./bugs.ts";
import { FIXED, FIXED_QUEUES } from "./fixed-seeds.ts";
import { findBugs, isFound, requireControl } from "./mutated-copy.ts";

const [first] = BUGS;

it.each([
  ["simulated tasks", FIXED],
  ["simulated relays with queues", FIXED_QUEUES],
])(
  "in the %s that serve to find planted bugs, the relay without a planted bug breaks no promise",
  async (_, hunt) => {
    await requireControl(hunt);
  },
);

it("the check that a relay without planted bugs breaks no promise fails when it is run on a relay with a planted bug", async () => {
  await expect(requireControl(FIXED, first)).rejects.toThrow(/breaks a promise in life \d+/);
});

it.each([
  ["tasks", BUGS, FIXED, 101],
  ["relays with queues", QUEUE_BUGS, FIXED_QUEUES, 80],
])(
  "every bug that is planted in the relay is found within 5,000 simulated %s",
  async (_, bugs, { seeds, ...hunt }, count) => {
    expect(bugs.length).toBeGreaterThanOrEqual(count);
    expect(hunt.lives).toBe(5_000);
    // From the other seeds, `npm run sim:planted` looks for them.
    const found = await findBugs(bugs, { ...hunt, seeds: seeds.slice(0, 1) }, () => {});
    const survivors = bugs.filter((bug) => !isFound(found.get(bug) ?? [])).map(({ what }) => what);
    expect(survivors).toEqual([]);
  },
);
