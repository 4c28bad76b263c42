import { expect, it } from "vitest";
import { FaultNotes } from "../../src/task-object/fault-notes.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

it("FaultNotes, which limits how often failed callbacks to a host are reported to the object that counts them, reports twice every ten seconds when 10,000 fail in a minute", () => {
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
    "that follow a reported one within ten seconds are held back and reported with the first one after those ten seconds",
    [0, 1, 9 * SECOND, 10 * SECOND],
    [1, 0, 0, 3],
  ],
  [
    "that were held back are dropped when ten minutes pass without another failure",
    [0, 1, 10 * MINUTE + 1],
    [1, 0, 1],
  ],
  [
    "that were held back are reported with the next one when the clock was put back meanwhile",
    [0, 1, -MINUTE],
    [1, 0, 2],
  ],
])(
  "failed callbacks to a host (reported to the Durable Object that counts them) %s",
  (_what, times, counts) => {
    const notes = new FaultNotes();
    expect(times.map((time) => notes.add("host", NOW + time))).toEqual(counts);
    expect(notes.add("another host", NOW)).toBe(1);
  },
);
