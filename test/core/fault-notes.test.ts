import { expect, it } from "vitest";
import { FaultNotes } from "../../src/task/fault-notes.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

it("an isolate reports the faults of a host twice every ten seconds when callbacks to it fail for 10,000 tasks in a minute", () => {
  const notes = new FaultNotes();
  const reports = Array.from({ length: 10_000 }, (_, n) => notes.add("host", NOW + n * 6));
  const made = reports.filter((count) => count > 0);
  expect(made).toEqual([1, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10, 9]);
});

it.each([
  [
    "that come ten seconds apart are each reported alone",
    [0, 10, 20].map((s) => s * SECOND),
    [1, 1, 1],
  ],
  [
    "that come within ten seconds of a report are reported together with the first fault after that time",
    [0, 1, 9 * SECOND, 10 * SECOND],
    [1, 0, 0, 3],
  ],
  ["that were not reported are forgotten after ten minutes", [0, 1, 10 * MINUTE + 1], [1, 0, 1]],
  ["are reported after the clock went back", [0, 1, -MINUTE], [1, 0, 2]],
])("faults of a callback host %s", (_what, times, counts) => {
  const notes = new FaultNotes();
  expect(times.map((time) => notes.add("host", NOW + time))).toEqual(counts);
  expect(notes.add("another host", NOW)).toBe(1);
});
