import { describe, expect, it } from "vitest";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import { likelihoodOf } from "../../src/core/record/poll-likelihood.ts";
import { aPolicy, HOUR, MINUTE, NOW, SECOND } from "./builders.ts";
import { anAttachedTask, aPlan } from "./upstream-builders.ts";

const AGES = Array.from({ length: 10 }, (_, index) => (60 + 5 * index) * SECOND);

/** The likelihood of a poll at this age, when the last one was made at the age `polledMs`. */
function likelihood(plan: Partial<PollPlan>, polledMs: number, ageMs: number): number {
  const policy = aPolicy({ askedAt: NOW + polledMs });
  return likelihoodOf(anAttachedTask(plan), aPlan(plan), policy, NOW + ageMs);
}

describe("the likelihood that a poll finds the result", () => {
  it.each<[string, Partial<PollPlan>, number, number, number]>([
    ["0.5 at the first poll of an unknown kind", {}, 0, 10 * SECOND, 0.5],
    ["a fifth after a wait of a fifth of the age", {}, 80 * SECOND, 100 * SECOND, 0.2],
    ["8 % at the first likely age", { likelyAgesMs: AGES }, 0, 60 * SECOND, 0.08],
    [
      "that of the jobs which have not ended before, at the last likely age",
      { likelyAgesMs: AGES },
      100 * SECOND,
      105 * SECOND,
      0.66,
    ],
    [
      "half of them at twice the last likely age",
      { likelyAgesMs: AGES },
      105 * SECOND,
      210 * SECOND,
      0.5,
    ],
    [
      "high after a hook that claimed the end",
      { hint: { at: NOW + MINUTE, status: "completed" } },
      MINUTE,
      MINUTE + 15 * SECOND,
      0.9,
    ],
    ["1 at the deadline", {}, 71 * HOUR, 72 * HOUR, 1],
  ])("the likelihood that a poll finds the result is %s", (_, plan, polledMs, ageMs, expected) => {
    expect(likelihood(plan, polledMs, ageMs)).toBe(expected);
  });

  it("the likelihood that a poll finds the result rises while the poll is deferred", () => {
    const all = [80, 85, 90, 100].map((ageS) =>
      likelihood({ likelyAgesMs: AGES }, 75 * SECOND, ageS * SECOND),
    );
    expect(all).toEqual(all.toSorted((a, b) => a - b));
    expect(new Set(all).size).toBe(4);
  });
});
