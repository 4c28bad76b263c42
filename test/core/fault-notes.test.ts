import { expect, it } from "vitest";
import { FaultNotes } from "../../src/objects/task/fault-notes.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

it("FaultNotes, which decides when failed callback attempts at a host are reported to the host's counter, makes only 12 reports of 10,000 failures within a minute", () => {
  const notes = new FaultNotes();
  const reports = Array.from({ length: 10_000 }, (_, n) => notes.add("host", NOW + n * 6));
  const made = reports.filter((count) => count > 0);
  expect(made).toEqual([1, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10, 9]);
});

it.each([
  [
    "reports each failure at once when the failures come ten seconds apart",
    [0, 10, 20].map((s) => s * SECOND),
    [1, 1, 1],
  ],
  [
    "holds back two failures within the ten seconds, and reports them together with the first failure after the ten seconds",
    [0, 1, 9 * SECOND, 10 * SECOND],
    [1, 0, 0, 3],
  ],
  [
    "drops the failures that it held back when the next failure comes more than ten minutes after the first",
    [0, 1, 10 * MINUTE + 1],
    [1, 0, 1],
  ],
  [
    "reports the failures that it held back, together with the next failure, when the clock was put back meanwhile",
    [0, 1, -MINUTE],
    [1, 0, 2],
  ],
])(
  "FaultNotes, which decides when failed callback attempts at a host are reported to the host's counter, %s",
  (_what, times, counts) => {
    const notes = new FaultNotes();
    expect(times.map((time) => notes.add("host", NOW + time))).toEqual(counts);
    expect(notes.add("another host", NOW)).toBe(1);
  },
);
