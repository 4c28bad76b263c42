import { expect, it } from "vitest";
import { Counters } from "../chaos/counters.ts";
import { jobUrl, planOf, type TaskPlan } from "../chaos/plan.ts";
import { runRound } from "../chaos/round.ts";
import type { Evidence } from "../chaos/task-faults.ts";
import { AlternatingReleases } from "./releases.ts";

const SEED = Number(process.env["UPGRADE_SEED"] ?? 20_261_121);
const TASKS = 1_000;
const PARALLEL = 300;
/**
 * Factor that makes the pauses of a task longer than a period, so that most tasks run under several releases.
 */
const SLOWDOWN = 10;
/** Smallest figures that the run must reach to prove anything. */
const LEAST = {
  kills: 6,
  "begun before, ended after": 10,
  "begun after, ended before": 10,
  "callback begun before, continued after": 10,
  "callback begun after, continued before": 10,
  "ended by hook": 10,
  "booked: refund": 20,
  "requests repeated": 20,
};

it("the promises of docs/promises.md hold for 1,000 tasks while an earlier release and the current build replace each other", async () => {
  console.log(`seed ${SEED}`);
  const releases = new AlternatingReleases();
  const { counters, faults, recording } = await runRound({
    seed: SEED,
    isEnough: (tasks) => tasks === TASKS,
    parallel: PARALLEL,
    planOf: slowPlanOf,
    disturb: (load) => releases.disturb(load),
    underCurrent: (work) => releases.underCurrent(work),
  });
  counters.addAll(crossings(recording.evidence, (time) => releases.wasCurrentAt(time)));
  console.log(counters.toString());
  expect(faults).toEqual([]);
  expect(counters.tooLow(LEAST)).toEqual([]);
});

/**
 * Returns a plan without the features that the earlier build lacks: failures reported by hooks, and polling.
 */
function slowPlanOf(seed: number, nth: number): TaskPlan {
  const plan = planOf(seed, nth);
  const [first, second] = plan.pausesMs;
  const slow = {
    ...plan,
    pausesMs: [first * SLOWDOWN, second * SLOWDOWN],
    isKeyed: false,
  } as const;
  if (plan.ending?.via !== "hook") return slow;
  const result = `completed ${jobUrl(nth)}`;
  return { ...slow, ending: { via: "hook", state: "completed", result, hooks: ["genuine"] } };
}

/** Counts tasks and callbacks that one build began and the other continued. */
function crossings(evidence: readonly Evidence[], isCurrent: (time: number) => boolean): Counters {
  const counters = new Counters();
  for (const { history, posts } of evidence) {
    const { createdAt, endedAt } = history;
    if (endedAt !== null && isCurrent(createdAt) !== isCurrent(endedAt)) {
      counters.add(isCurrent(endedAt) ? "begun before, ended after" : "begun after, ended before");
    }
    for (const [i, { arrivedAt }] of posts.entries()) {
      const next = posts[i + 1];
      if (next === undefined || isCurrent(arrivedAt) === isCurrent(next.arrivedAt)) continue;
      const order = isCurrent(arrivedAt) ? "after, continued before" : "before, continued after";
      counters.add(`callback begun ${order}`);
    }
  }
  return counters;
}
