import { describe, expect, it } from "vitest";
import { lookWaitMs } from "../../src/core/backoff.ts";
import { waitBeforeMs } from "../../src/core/policy.ts";
import { aPolicy, MINUTE } from "./builders.ts";

const standard = aPolicy();
const patient = aPolicy({ scheduleMs: [5_000, 60_000] });

describe("waitBeforeMs", () => {
  it.each([
    ["an automatic series", standard, false, [0, 180_000, 600_000]],
    ["an automatic series whose schedule begins with a wait", patient, false, [5_000, 60_000]],
    ["a redelivery", standard, true, [0, 180_000, 600_000]],
    ["a redelivery, without the wait with which the schedule begins", patient, true, [0, 60_000]],
    ["a redelivery of more attempts than the schedule has", patient, true, [0, 60_000, 60_000]],
    ["a redelivery under a schedule of one wait", aPolicy({ scheduleMs: [7] }), true, [0, 7, 7]],
    [
      "a redelivery under a schedule without any wait",
      aPolicy({ scheduleMs: [0] }),
      true,
      [0, 0, 0],
    ],
  ])(
    "waitBeforeMs returns the scheduled wait before each callback attempt of %s",
    (_what, policy, ordered, waits) => {
      expect(waits.map((_, index) => waitBeforeMs(policy, index, ordered))).toEqual(waits);
    },
  );
});

it.each([
  ["is not due yet", -MINUTE, MINUTE],
  ["has just become due", 0, MINUTE],
  ["has waited for 4 minutes", 4 * MINUTE, MINUTE],
  ["has waited for 8 minutes", 8 * MINUTE, 2 * MINUTE],
  ["has waited for a day", 1440 * MINUTE, 24 * MINUTE],
])(
  "a step that is held back (by a pause, say) and %s is tried again after a quarter of its delay (1 to 24 minutes) plus up to a quarter of that wait at random",
  (_what, ageMs, waitMs) => {
    expect(lookWaitMs(ageMs, 0)).toBe(waitMs);
    expect(lookWaitMs(ageMs, 0.5)).toBe(1.125 * waitMs);
    expect(lookWaitMs(ageMs, 1)).toBe(1.25 * waitMs);
  },
);
