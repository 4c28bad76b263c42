import { expect, it } from "vitest";
import { PLANTED_FAULTS } from "../chaos/callbacks/planted.ts";
import { lengthOf, type RoundsLength, runRounds } from "../chaos/callbacks/scenario.ts";
import { planOf } from "../chaos/callbacks/plan.ts";
import { leastPlaces } from "../chaos/planting.ts";
import { seeded } from "../../simulation/random.ts";
import { bundleOf } from "../harness/workerd.ts";
import { DIVISIONS, gradualRound, leastOf } from "./gradual.ts";
import { keptBundle } from "../../kept-release/bundle.ts";

const SEED = Number(process.env["UPGRADE_SEED"] ?? 20_261_127);
/** Minutes of the run, in rounds of two; 0 for one short round. */
const MINUTES = Number(process.env["UPGRADE_MINUTES"] ?? 0);
/** The short round: at least 400 tasks, and until the objects have been divided in every way. */
const SHORT: RoundsLength = {
  rounds: 1,
  isEnough: (tasks, _, counters) =>
    tasks >= 400 && counters.of("objects moved") >= DIVISIONS.length,
};
const PARALLEL = 120;
/** Smallest figures that each round must reach to prove anything. */
const LEAST = {
  ...leastOf(10),
  kills: 2,
  "restarts without a kill": 1,
  "booked: refund": 20,
  "callbacks begun by the earlier build, continued by the present one": 2,
  "callbacks begun by the present build, continued by the earlier one": 2,
  "polls answered": 10,
  "requests repeated": 20,
};

/** Prints a line, of a long run also when it passes. */
function print(line: string): void {
  if (MINUTES > 0) process.stdout.write(`${line}\n`);
  else console.log(line);
}

it(
  "while two builds of the relay run at once, each with some of the requests and Durable Objects, no task or callback is lost, duplicated or refused",
  { timeout: (MINUTES + 10) * 60_000 },
  async () => {
    const [earlier] = await Promise.all([keptBundle(), bundleOf()]);
    const length = MINUTES > 0 ? lengthOf(MINUTES) : SHORT;
    const { counters, faults } = await runRounds({
      length,
      seed: SEED,
      print,
      roundOf: (seed) => ({ parallel: PARALLEL, planOf, ...gradualRound(earlier, seeded(seed)) }),
    });
    expect(faults).toEqual([]);
    const least = Object.entries(LEAST).map(([name, count]) => [name, count * length.rounds]);
    expect(
      counters.tooLow({ ...Object.fromEntries(least), ...leastPlaces(PLANTED_FAULTS) }),
    ).toEqual([]);
  },
);
