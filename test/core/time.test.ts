import * as fc from "fast-check";
import { expect, it } from "vitest";
import { monthStart } from "../../src/core/time.ts";

/** Returns the beginning of the month of a time by the calendar of the engine. */
function byEngine(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

it("a month begins when the engine's calendar says so, at every first and last millisecond of a month from 1970 to 2500", () => {
  for (let month = 0; month < 12 * 530; month++) {
    const start = Date.UTC(1970, month);
    const end = Date.UTC(1970, month + 1) - 1;
    expect([monthStart(start), monthStart(end)]).toEqual([start, start]);
  }
});

it("a month begins when the engine's calendar says so, at random times until the year 9999", () => {
  const time = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });
  fc.assert(
    fc.property(time, (at) => monthStart(at) === byEngine(at)),
    { seed: 20_261_129 },
  );
});
