import { expect, it } from "vitest";
import { lengthOf, runRounds } from "../chaos/chaos.ts";
import { planOf } from "../chaos/plan.ts";
import { seeded } from "../../simulation/random.ts";
import { bundleOf } from "../harness/workerd.ts";
import { gradualRound, leastOf } from "./gradual.ts";
import { keptBundle } from "./releases.ts";

const SEED = Number(process.env["UPGRADE_SEED"] ?? 20_261_127);
/** Minutes of the run, in rounds of two; by default one round of `TASKS` tasks. */
const MINUTES = Number(process.env["UPGRADE_MINUTES"] ?? 0);
const TASKS = 500;
const PARALLEL = 80;
/** The last build before this one whose bundle is kept. */
const EARLIER = "4-prices";
/** Smallest figures that each round must reach to prove anything. */
const LEAST = {
  ...leastOf(10),
  kills: 2,
  "restarts without a kill": 2,
};

it(
  "nothing is lost, doubled or refused while two builds run at once: requests go to the Worker of either, and the objects of tasks and all others move between both",
  { timeout: (MINUTES + 10) * 60_000 },
  async () => {
    const [earlier] = await Promise.all([keptBundle(EARLIER), bundleOf()]);
    const length =
      MINUTES > 0 ? lengthOf(MINUTES) : { rounds: 1, isEnough: (tasks: number) => tasks === TASKS };
    const { counters, faults } = await runRounds({
      length,
      seed: SEED,
      print: (line) => process.stdout.write(`${line}\n`),
      roundOf: (seed) => ({ parallel: PARALLEL, planOf, ...gradualRound(earlier, seeded(seed)) }),
    });
    expect(faults).toEqual([]);
    const least = Object.entries(LEAST).map(([name, count]) => [name, count * length.rounds]);
    expect(counters.tooLow(Object.fromEntries(least))).toEqual([]);
  },
);
