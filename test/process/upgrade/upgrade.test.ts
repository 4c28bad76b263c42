import { expect, it } from "vitest";
import { faultsIn } from "../chaos/callbacks/judge.ts";
import { jobUrl, planOf, type TaskPlan } from "../chaos/callbacks/plan.ts";
import { recordRound } from "../chaos/callbacks/round.ts";
import { bundleOf } from "../harness/workerd.ts";
import { type Build, crossings } from "./crossings.ts";
import { keptBundle } from "../../kept-release/bundle.ts";
import { Turns } from "./turns.ts";

const SEED = Number(process.env["UPGRADE_SEED"] ?? 20_261_121);
const TASKS = 1_000;
const PARALLEL = 300;
const PERIOD_MS = 3_500;
/**
 * Factor that makes the pauses of a task longer than a period, so that most tasks run under several releases.
 */
const SLOWDOWN = 10;
/** Smallest figures that the run must reach to prove anything. */
const LEAST = {
  kills: 6,
  "tasks begun by the earlier build, ended by the present one": 10,
  "tasks begun by the present build, ended by the earlier one": 10,
  "callbacks begun by the earlier build, continued by the present one": 10,
  "callbacks begun by the present build, continued by the earlier one": 10,
  "ended by hook": 10,
  "booked: refund": 20,
  "requests repeated": 20,
};

it("for 1,000 tasks, the promises of docs/promises.md hold while the previous release and the present build replace each other", async () => {
  console.log(`seed ${SEED}`);
  const [{ script: present }, earlier] = await Promise.all([bundleOf(), keptBundle()]);
  const scripts = { present, earlier };
  const turns = new Turns<Build>({
    forms: ["present", "earlier"],
    last: "present",
    periodMs: PERIOD_MS,
    take: async ({ relay, counters }, build) => {
      await relay.restart("kept", scripts[build]);
      counters.add("kills");
    },
  });
  const { counters, recording } = await recordRound({
    seed: SEED,
    isEnough: (tasks) => tasks === TASKS,
    parallel: PARALLEL,
    planOf: slowPlanOf,
    disturb: (load) => turns.disturb(load),
    figuresOf: (evidence) => crossings(evidence, (time) => turns.at(time)),
  });
  console.log(counters.toString());
  expect(faultsIn(recording)).toEqual([]);
  expect(counters.tooLow(LEAST)).toEqual([]);
});

/**
 * Returns a plan with long pauses and without polls, whose load would delay the requests between two restarts. The job
 * then ends by one hook.
 */
function slowPlanOf(seed: number, nth: number): TaskPlan {
  const plan = planOf(seed, nth);
  const [first, second] = plan.pausesMs;
  const pausesMs = [first * SLOWDOWN, second * SLOWDOWN] as const;
  const slow = { ...plan, pausesMs, isKeyed: false };
  if (plan.ending?.via !== "hook") return slow;
  const result = `completed ${jobUrl(nth)}`;
  return { ...slow, ending: { via: "hook", state: "completed", result, hooks: ["genuine"] } };
}
