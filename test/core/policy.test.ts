import { describe, expect, it } from "vitest";
import { lookWaitMs } from "../../src/core/backoff.ts";
import { waitBeforeMs } from "../../src/core/policy.ts";
import { aPolicy, MINUTE } from "./builders.ts";

const standard = aPolicy();
const patient = aPolicy({ scheduleMs: [5_000, 60_000] });

describe("waitBeforeMs", () => {
  it.each([
    ["an automatic series", standard, false, [0, 180_000, 600_000]],
    ["an automatic series whose schedule has a first wait", patient, false, [5_000, 60_000]],
    ["an ordered series", standard, true, [0, 180_000, 600_000]],
    ["an ordered series, without the schedule's first wait", patient, true, [0, 60_000]],
    ["an ordered series longer than the schedule", patient, true, [0, 60_000, 60_000]],
    ["an ordered series under a 1-wait schedule", aPolicy({ scheduleMs: [7] }), true, [0, 7, 7]],
    ["an ordered series without any wait", aPolicy({ scheduleMs: [0] }), true, [0, 0, 0]],
  ])(
    "waitBeforeMs returns the waits before each callback attempt of %s",
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
  "a blocked step that %s is checked again after a wait that grows with its delay and has up to 25% of jitter",
  (_what, ageMs, waitMs) => {
    expect(lookWaitMs(ageMs, 0)).toBe(waitMs);
    expect(lookWaitMs(ageMs, 0.5)).toBe(1.125 * waitMs);
    expect(lookWaitMs(ageMs, 1)).toBe(1.25 * waitMs);
  },
);
