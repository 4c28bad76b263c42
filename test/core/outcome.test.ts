import { describe, expect, it } from "vitest";
import { outcomeOfStatus, OUTCOMES } from "../../src/core/record/outcome.ts";

describe("outcomeOfStatus", () => {
  it.each([
    [200, "delivered"],
    [201, "delivered"],
    [204, "delivered"],
    [299, "delivered"],
    [300, "redirected"],
    [301, "redirected"],
    [304, "redirected"],
    [399, "redirected"],
    [400, "rejected"],
    [404, "rejected"],
    [408, "rejected"],
    [410, "rejected"],
    [429, "rejected"],
    [499, "rejected"],
    [500, "rejected"],
    [503, "rejected"],
    [504, "rejected"],
    [520, "rejected"],
    [521, "unreachable"],
    [522, "unreachable"],
    [523, "unreachable"],
    [524, "timeout"],
    [525, "unreachable"],
    [526, "unreachable"],
    [527, "rejected"],
    [529, "rejected"],
    [530, "unreachable"],
    [531, "rejected"],
    [599, "rejected"],
    [199, "rejected"],
    [101, "rejected"],
    [0, "rejected"],
  ])("reads %i as %s", (status, outcome) => {
    expect(outcomeOfStatus(status)).toBe(outcome);
  });

  it("calls only 2xx delivered", () => {
    const delivered = Array.from({ length: 1000 }, (_, status) => status).filter(
      (status) => outcomeOfStatus(status) === "delivered",
    );
    expect(delivered).toEqual(Array.from({ length: 100 }, (_, i) => 200 + i));
  });
});

describe("OUTCOMES", () => {
  it("are the words of the contract", () => {
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
});
