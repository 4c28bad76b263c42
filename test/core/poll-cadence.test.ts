import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Cadence, nextPollTime } from "../../src/core/polls/cadence.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

const ATTACHED_AT = 1_800_000_000_000;
const UNHOOKED: Cadence = {
  attachedAt: ATTACHED_AT,
  hookWaitMs: null,
  lateness: 0.1,
  gapMs: 1_000,
  jitter: 0.5,
};
const HOOKED: Partial<Cadence> = { hookWaitMs: 120_000 };
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

/** Returns the ages of the job, in seconds, at the first `count` polls after `afterS`. */
function agesS(given: Partial<Cadence>, count: number, afterS = 0): readonly number[] {
  const times: number[] = [];
  let time = ATTACHED_AT + afterS * 1_000;
  while (times.length < count) {
    times.push((time = nextPollTime({ ...UNHOOKED, ...given }, time)));
  }
  return times.map((at) => (at - ATTACHED_AT) / 1_000);
}

/** Returns the wait after the first poll from the age `afterS` on, in seconds. */
function waitS(given: Partial<Cadence>, afterS: number): number {
  const [first = NaN, second = NaN] = agesS(given, 2, afterS);
  return Math.round(second * 1_000 - first * 1_000) / 1_000;
}

describe("the ages of a job at which it is polled", () => {
  it.each([
    [
      "at the age of 4 s and then every 2 s, as long as a tenth of its age is less than 2 s",
      {},
      0,
      [4, 6, 8, 10],
    ],
    [
      "after waits of a tenth of its age once this is more than 2 s, with POLL_LATENESS 10",
      {},
      20,
      [22, 24.2, 26.62, 29.282],
    ],
    [
      "at least 8 s apart when its provider allows one poll in 8 s",
      { gapMs: 8_000 },
      0,
      [8, 16, 24],
    ],
    [
      "first at the age of two minutes and then every minute, when a hook is expected",
      HOOKED,
      0,
      [120, 180, 240],
    ],
    [
      "as often as without hooks, when polls do not wait for the expected hook",
      { hookWaitMs: 0 },
      0,
      [4, 6, 8],
    ],
    [
      "two minutes apart when a hook is expected and its provider allows one poll in two minutes",
      { ...HOOKED, gapMs: 120_000 },
      0,
      [120, 240, 360],
    ],
  ] as const)(
    "a job is polled after waits that grow with its age and are never shorter than its provider allows: here it is polled %s",
    (_, given, afterS, expected) => {
      expect(agesS(given, expected.length, afterS)).toEqual(expected);
    },
  );

  it.each([
    ["15 s, a tenth of 150 s, when the job is 150 s old", {}, 150, 15],
    ["still 15 s shortly before the job is ten minutes old", {}, 570, 15],
    ["about 15 s, a fortieth of its age, when the job is ten minutes old", {}, 600, 15.2],
    ["a fortieth of its age when the job is an hour old", {}, HOUR_S, 90.5],
    ["30 minutes when the job is two days old", {}, 2 * DAY_S, 1_800],
    ["30 minutes when the job is ten years old", {}, 3_650 * DAY_S, 1_800],
    ["90 s when the job is an hour old and a hook is expected", HOOKED, HOUR_S, 90.5],
    ["an hour when its provider allows one poll in an hour", { gapMs: 3_600_000 }, DAY_S, 3_600],
  ] as const)(
    "with POLL_LATENESS 10, the wait after a poll is a tenth of the job's age up to 15 s, then a fortieth up to 30 minutes: it is %s",
    (_, given, afterS, s) => {
      const wait = waitS(given, afterS);
      expect(Math.abs(wait - s)).toBeLessThanOrEqual(s * 0.02);
    },
  );

  it("the poll times of two tasks differ by up to a tenth, because each task's waits depend on a number derived from its id", () => {
    expect(agesS({ jitter: 0 }, 1)).toEqual([3.8]);
    expect(agesS({ jitter: 1 }, 1)).toEqual([4.2]);
    expect(waitS({ jitter: 0 }, 3 * DAY_S)).toBe(1_710);
    expect(waitS({ jitter: 1 }, 3 * DAY_S)).toBe(1_890);
  });
});

const cadences: fc.Arbitrary<Cadence> = fc.record({
  attachedAt: fc.constant(ATTACHED_AT),
  hookWaitMs: fc.option(fc.nat(600_000)),
  lateness: fc.integer({ min: 3, max: 50 }).map((percent) => percent / 100),
  gapMs: fc.nat(20_000),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});

describe("the planned times of polls", () => {
  it("nextPollTime returns a time later than the given one, whatever the age of the job, even if the clock was put back", () => {
    fc.assert(
      fc.property(cadences, fc.integer({ min: -1e9, max: 4e10 }), (cadence, afterMs) => {
        expect(nextPollTime(cadence, ATTACHED_AT + afterMs)).toBeGreaterThan(ATTACHED_AT + afterMs);
      }),
    );
  });

  it("nextPollTime returns the same time whenever it is called between two polls, so that poll times need not be stored", () => {
    fc.assert(
      fc.property(
        cadences,
        fc.nat(1e9),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (cadence, afterMs, part) => {
          const previous = nextPollTime(cadence, ATTACHED_AT + afterMs);
          const next = nextPollTime(cadence, previous);
          const between = previous + Math.floor(part * (next - previous));
          expect(nextPollTime(cadence, between)).toBe(next);
          expect(next - previous).toBeGreaterThanOrEqual(Math.max(2_000, cadence.gapMs));
        },
      ),
    );
  });

  it("no wait between two polls of a job is shorter than the wait before it, and none is longer than 31.5 minutes", () => {
    fc.assert(
      fc.property(cadences, fc.nat(3e8), (cadence, afterMs) => {
        const first = nextPollTime(cadence, ATTACHED_AT + afterMs);
        const second = nextPollTime(cadence, first);
        const third = nextPollTime(cadence, second);
        expect(third - second).toBeGreaterThanOrEqual(second - first);
        expect(third - second).toBeLessThanOrEqual(31.5 * 60_000);
      }),
    );
  });
});
