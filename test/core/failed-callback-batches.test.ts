import { expect, it } from "vitest";
import { FailedCallbackBatches } from "../../src/objects/failed-callback-batches.ts";
import { NOW, SECOND } from "./builders.ts";

const HOST = "a.example";
const id = (n: number) => `task-${n}`;

/** Adds tasks at these times. @returns when each is to report the batch, in milliseconds from now; null for never. */
function added(batches: FailedCallbackBatches, times: readonly number[]) {
  return times.map((time, n) => batches.add(HOST, id(n), NOW + time));
}

it("when 1,000 callbacks to a host fail within 3 s, only two tasks make a report for the operator: the first at once of its own failure, another 3 s later of all the others", () => {
  const batches = new FailedCallbackBatches();
  expect(batches.add(HOST, "first", NOW)).toBe(0);
  expect(batches.take(HOST)).toEqual({ failed: 1, tasks: ["first"] });
  const others = added(
    batches,
    Array.from({ length: 999 }, (_, n) => n * 3),
  );
  expect(others.filter((waitMs) => waitMs !== null)).toEqual([3 * SECOND]);
  const batch = batches.take(HOST);
  expect([batch?.failed, batch?.tasks.length]).toEqual([999, 100]);
  expect(batches.take(HOST)).toBe(null);
});

it.each<[string, readonly number[], readonly (number | null)[]]>([
  [
    "that come three seconds apart are each reported at once",
    [0, 3 * SECOND, 6 * SECOND],
    [0, 0, 0],
  ],
  [
    "whose report at the end of the 3 s did not happen are reported together with the next failure",
    [0, 1_000, 2_000, 3_000],
    [0, 2_000, null, 0],
  ],
  ["before and after the clock was put back are reported at once", [0, -60_000], [0, 0]],
])(
  "a failed callback to a host is reported to the operator at once, or together with others of the next 3 s: callbacks %s",
  (_, times, waits) => {
    const batches = new FailedCallbackBatches();
    expect(added(batches, times)).toEqual(waits);
    expect(batches.take(HOST)?.failed).toBe(times.length);
    expect(batches.add("other.example", "x", NOW)).toBe(0);
  },
);

it("when a report for the operator of failed callbacks to a host could not be made, the next report contains them too, and counts a task that failed again only once", () => {
  const batches = new FailedCallbackBatches();
  added(batches, [0, 1, 2]);
  const batch = batches.take(HOST);
  if (batch !== null) batches.putBack(HOST, batch, id(1));
  expect(batches.add(HOST, id(1), NOW + 60 * SECOND)).toBe(0);
  expect(batches.take(HOST)).toEqual({ failed: 3, tasks: [id(0), id(2), id(1)] });
});
