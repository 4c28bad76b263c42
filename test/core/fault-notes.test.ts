import { expect, it } from "vitest";
import { FaultNotes } from "../../src/task-object/fault-notes.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

it("FaultNotes, which says when faults of a host are to be reported to the object that counts them, asks for two reports every ten seconds when 10,000 callbacks fail in a minute", () => {
  const notes = new FaultNotes();
  const reports = Array.from({ length: 10_000 }, (_, n) => notes.add("host", NOW + n * 6));
  const made = reports.filter((count) => count > 0);
  expect(made).toEqual([1, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10, 9]);
});

it.each([
  [
    "that come ten seconds apart are each reported at once",
    [0, 10, 20].map((s) => s * SECOND),
    [1, 1, 1],
  ],
  [
    "that come within ten seconds after a reported fault are held back and reported with the first fault after the ten seconds",
    [0, 1, 9 * SECOND, 10 * SECOND],
    [1, 0, 0, 3],
  ],
  [
    "that are held back are dropped after ten minutes without another fault",
    [0, 1, 10 * MINUTE + 1],
    [1, 0, 1],
  ],
  [
    "that are held back are reported with the next fault when the clock was put back meanwhile",
    [0, 1, -MINUTE],
    [1, 0, 2],
  ],
])(
  "in the reports to the object that counts faults, failed callbacks to a host %s",
  (_what, times, counts) => {
    const notes = new FaultNotes();
    expect(times.map((time) => notes.add("host", NOW + time))).toEqual(counts);
    expect(notes.add("another host", NOW)).toBe(1);
  },
);
