import { expect, it } from "vitest";
import { outcomeOfStatus, OUTCOMES } from "../../src/core/record/outcome.ts";

it("outcomeOfStatus maps every HTTP status of a receiver to the documented outcome", () => {
  const redirected = Array.from({ length: 100 }, (_, i) => 300 + i);
  const delivered = Array.from({ length: 100 }, (_, i) => 200 + i);
  const statuses = Array.from({ length: 1000 }, (_, status) => status);
  const having = (outcome: string) =>
    statuses.filter((status) => outcomeOfStatus(status) === outcome);

  expect(having("delivered")).toEqual(delivered);
  expect(having("redirected")).toEqual(redirected);
  expect(having("timeout")).toEqual([524]);
  expect(having("unreachable")).toEqual([521, 522, 523, 525, 526, 530]);
  expect(having("rejected")).toHaveLength(1000 - 200 - 1 - 6);
});

it("OUTCOMES are exactly the documented words for the outcome of an attempt", () => {
  expect(OUTCOMES).toEqual([
    "delivered",
    "rejected",
    "redirected",
    "timeout",
    "unreachable",
    "blocked",
    "interrupted",
  ]);
});
