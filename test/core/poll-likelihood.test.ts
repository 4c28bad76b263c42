import { describe, expect, it } from "vitest";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import { likelihoodOf } from "../../src/core/record/poll-likelihood.ts";
import { aPolicy, HOUR, MINUTE, NOW, SECOND } from "./builders.ts";
import { anAttachedTask, aPlan } from "./upstream-builders.ts";

const HINTED: Partial<PollPlan> = { hint: { at: NOW + MINUTE, status: "completed" } };
const AGES = Array.from({ length: 10 }, (_, index) => (60 + 5 * index) * SECOND);

/** Returns the likelihood of a poll at this age when the last poll was made at the age `polledMs`. */
function likelihood(plan: Partial<PollPlan>, polledMs: number, ageMs: number): number {
  const policy = aPolicy({ askedAt: NOW + polledMs });
  return likelihoodOf(anAttachedTask(plan), aPlan(plan), policy, NOW + ageMs);
}

describe("the likelihood that a poll finds the result", () => {
  it.each<[string, Partial<PollPlan>, number, number, number]>([
    [
      "0.5 at the first poll of a job, when no durations of its kind are known",
      {},
      0,
      10 * SECOND,
      0.5,
    ],
    [
      "0.2 when a fifth of the job's age has passed since the last poll, and no durations of its kind are known",
      {},
      80 * SECOND,
      100 * SECOND,
      0.2,
    ],
    [
      "0.08 at the age by which 8 % of the earlier jobs of its kind had ended, when this is the first poll",
      { likelyAgesMs: AGES },
      0,
      60 * SECOND,
      0.08,
    ],
    [
      "0.13 halfway between the ages by which 8 % and 18 % of the earlier jobs of its kind had ended, when this is the first poll",
      { likelyAgesMs: AGES },
      0,
      62_500,
      0.13,
    ],
    [
      "0.66 when 66 % of the earlier jobs of its kind that still ran at the last poll had ended by the present age",
      { likelyAgesMs: AGES },
      100 * SECOND,
      105 * SECOND,
      0.66,
    ],
    [
      "0.5 at twice the age by which nearly all earlier jobs of its kind had ended",
      { likelyAgesMs: AGES },
      105 * SECOND,
      210 * SECOND,
      0.5,
    ],
    [
      "0.9 two minutes after an unsigned hook that reported the job's end",
      HINTED,
      0,
      3 * MINUTE,
      0.9,
    ],
    [
      "0.25 more than two minutes after an unsigned hook that reported the job's end, when a quarter of the job's age has passed since the last poll",
      HINTED,
      3 * MINUTE,
      4 * MINUTE,
      0.25,
    ],
    ["1 at the deadline of the task", {}, 71 * HOUR, 72 * HOUR, 1],
  ])("the likelihood that a poll finds the result is %s", (_, plan, polledMs, ageMs, expected) => {
    expect(likelihood(plan, polledMs, ageMs)).toBe(expected);
  });

  it("the likelihood that a poll finds the result rises with the age of the job while no poll is made", () => {
    const all = [80, 85, 90, 100].map((ageS) =>
      likelihood({ likelyAgesMs: AGES }, 75 * SECOND, ageS * SECOND),
    );
    expect(all).toEqual(all.toSorted((a, b) => a - b));
    expect(new Set(all).size).toBe(4);
  });
});
