import { expect, it } from "vitest";
import { FaultNotes } from "../../src/task-object/fault-notes.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

it("FaultNotes asks for two reports every ten seconds, not one per fault, when 10,000 callbacks to a host fail in a minute", () => {
  const notes = new FaultNotes();
  const reports = Array.from({ length: 10_000 }, (_, n) => notes.add("host", NOW + n * 6));
  const made = reports.filter((count) => count > 0);
  expect(made).toEqual([1, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10, 9]);
});

it.each([
  [
    "that come ten seconds apart are reported one by one",
    [0, 10, 20].map((s) => s * SECOND),
    [1, 1, 1],
  ],
  [
    "that come less than ten seconds after a reported one wait and are reported together with the next fault after that time",
    [0, 1, 9 * SECOND, 10 * SECOND],
    [1, 0, 0, 3],
  ],
  ["that were not reported are forgotten after ten minutes", [0, 1, 10 * MINUTE + 1], [1, 0, 1]],
  [
    "that waited for a report are reported with the next fault when the clock was put back meanwhile",
    [0, 1, -MINUTE],
    [1, 0, 2],
  ],
])("faults of a callback host %s", (_what, times, counts) => {
  const notes = new FaultNotes();
  expect(times.map((time) => notes.add("host", NOW + time))).toEqual(counts);
  expect(notes.add("another host", NOW)).toBe(1);
});
