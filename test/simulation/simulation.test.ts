import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { runSeed } from "./run.ts";
import { simulate } from "./simulate.ts";

const LIVES = Number(process.env["SIM_LIVES"] ?? 5_000);
/** Any other run is as good; this one is the same everywhere. */
const SEED = Number(process.env["SIM_SEED"] ?? 20_261_121);

/** Of each of these a simulation without them would say nothing. */
const EXPECTED_EVENTS = [
  "an instance dies",
  "a commit is lost",
  "a late call of a dead instance arrives",
  "a charge is done unheard",
  "a refund is done unheard",
  "a publish is done unheard",
  "a notify is done unheard",
  "attempt 1 is interrupted",
  "attempt 2 is interrupted",
  "attempt 3 is interrupted",
  "a series fails",
  "a callback is sent again by hand",
  "a deadline is put off",
  "a hook is kept",
  "a task ends by report",
  "a task ends by hook",
  "a task ends by poll",
  "a task ends by cancel",
  "a task ends by its deadline",
  "a task expires",
  "an id has another life",
];
const OFTEN = LIVES / 500;

it(`keeps every promise in ${LIVES} random lives, whatever fails, dies, comes twice or late`, async () => {
  console.log(`seed ${SEED}`);
  const threads = availableParallelism();
  const { lives, observed, broken } = await simulate({ seed: SEED, lives: LIVES, threads });
  expect(broken?.report ?? "").toBe("");
  expect(lives).toBe(LIVES);
  for (const what of EXPECTED_EVENTS)
    expect(observed[what] ?? 0, what).toBeGreaterThanOrEqual(OFTEN);
});

it("lives the same life again from the same seed", async () => {
  for (let seed = SEED; seed < SEED + 20; seed++) {
    const [first, again] = [await runSeed(seed), await runSeed(seed)];
    expect(again.moves).toEqual(first.moves);
    expect(again.world.disk.durable).toEqual(first.world.disk.durable);
  }
});
