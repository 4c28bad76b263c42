import { expect, it } from "vitest";
import { FaultNotes } from "../../src/objects/task/fault-notes.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

it("FaultNotes, which groups failed callbacks to a host, calls the object that counts them 12 times for 10,000 failures within a minute", () => {
  const notes = new FaultNotes();
  const reports = Array.from({ length: 10_000 }, (_, n) => notes.add("host", NOW + n * 6));
  const made = reports.filter((count) => count > 0);
  expect(made).toEqual([1, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10, 9]);
});

it.each([
  [
    "passes each failure on at once when the failures come ten seconds apart",
    [0, 10, 20].map((s) => s * SECOND),
    [1, 1, 1],
  ],
  [
    "reports the first failure at once, holds back those of the next ten seconds, and reports them together with the first failure after these ten seconds",
    [0, 1, 9 * SECOND, 10 * SECOND],
    [1, 0, 0, 3],
  ],
  [
    "drops the failures that it has not passed on when ten minutes go by without another failure",
    [0, 1, 10 * MINUTE + 1],
    [1, 0, 1],
  ],
  [
    "passes on the failures that it held back, together with the next failure, when the clock was put back meanwhile",
    [0, 1, -MINUTE],
    [1, 0, 2],
  ],
])(
  "FaultNotes, which groups failed callbacks to a host into few calls to the object that counts them, %s",
  (_what, times, counts) => {
    const notes = new FaultNotes();
    expect(times.map((time) => notes.add("host", NOW + time))).toEqual(counts);
    expect(notes.add("another host", NOW)).toBe(1);
  },
);
