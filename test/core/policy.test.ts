import { describe, expect, it } from "vitest";
import { lookWaitMs } from "../../src/core/backoff.ts";
import { refundableMs, waitBeforeMs } from "../../src/core/policy.ts";
import { aPolicy, DAY, MINUTE } from "./builders.ts";

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
    "waitBeforeMs returns the schedule's wait before a callback attempt; a redelivery starts at once and repeats the last wait as often as needed: %s",
    (_what, policy, ordered, waits) => {
      expect(waits.map((_, index) => waitBeforeMs(policy.scheduleMs, index, ordered))).toEqual(
        waits,
      );
    },
  );
});

it("a ledger keeps a charge refundable for 456.25 days, the longest time that a task can be open, plus the retention of finished tasks", () => {
  expect(refundableMs(28 * DAY)).toBe((456.25 + 28) * DAY);
});

it.each([
  ["will be due in a minute", 1, -MINUTE],
  ["has just become due", 1, 0],
  ["has been due for 4 minutes", 1, 4 * MINUTE],
  ["has been due for 8 minutes", 2, 8 * MINUTE],
  ["has been due for a day", 24, 1440 * MINUTE],
])(
  "while the relay is paused, a task whose callback attempt %s checks after %d min (plus at random up to a quarter) whether the pause is over",
  (_what, minutes, ageMs) => {
    expect(lookWaitMs(ageMs, 0)).toBe(minutes * MINUTE);
    expect(lookWaitMs(ageMs, 0.5)).toBe(1.125 * minutes * MINUTE);
    expect(lookWaitMs(ageMs, 1)).toBe(1.25 * minutes * MINUTE);
  },
);
