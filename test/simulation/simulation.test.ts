import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { runSeed } from "./run.ts";
import { simulate } from "./simulate.ts";

const LIVES = Number(process.env["SIM_LIVES"] ?? 5_000);
/** Seed of the first life, fixed so that every machine runs the same lives. */
const SEED = Number(process.env["SIM_SEED"] ?? 20_261_121);

/** Events without which the simulation would prove little. */
const EXPECTED_EVENTS = [
  "an instance dies",
  "a commit is lost",
  "a late call of a dead instance arrives",
  "a charge is done without an answer",
  "a refund is done without an answer",
  "a publish is done without an answer",
  "a notify is done without an answer",
  "attempt 1 is interrupted",
  "attempt 2 is interrupted",
  "attempt 3 is interrupted",
  "a series goes on after a crash",
  "a series is interrupted again",
  "a series fails",
  "a callback is redelivered",
  "a deadline is extended",
  "a hook is kept",
  "a task ends by report",
  "a task ends by hook",
  "a task ends by poll",
  "a task ends by cancel",
  "a task ends by its deadline",
  "a result is too large",
  "a task expires",
  "an id is used again",
];
const OFTEN = LIVES / 500;

it(`the promises of docs/promises.md hold in ${LIVES} simulated random lives of a task with failures, crashes, and repeated and late events`, async () => {
  console.log(`seed ${SEED}`);
  const threads = availableParallelism();
  const { lives, observed, broken } = await simulate({ seed: SEED, lives: LIVES, threads });
  expect(broken?.report ?? "").toBe("");
  expect(lives).toBe(LIVES);
  for (const what of EXPECTED_EVENTS)
    expect(observed[what] ?? 0, what).toBeGreaterThanOrEqual(OFTEN);
});

it("a second run of the simulation with the same seed takes a task through exactly the same life", async () => {
  for (let seed = SEED; seed < SEED + 20; seed++) {
    const [first, again] = [await runSeed(seed), await runSeed(seed)];
    expect(again.moves).toEqual(first.moves);
    expect(again.world.disk.durable).toEqual(first.world.disk.durable);
  }
});
