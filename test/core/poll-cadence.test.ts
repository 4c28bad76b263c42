import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Cadence,
  nextPollTime,
  previousPollTime,
} from "../../src/core/record/poll-cadence.ts";

const ATTACHED_AT = 1_800_000_000_000;
const UNKNOWN: Cadence = {
  attachedAt: ATTACHED_AT,
  likelyAgesMs: [],
  hookWaitMs: null,
  firstMs: 10_000,
  gapMs: 1_000,
  jitter: 0.5,
};

/** Returns the ages of the job, in seconds, at the first `count` polls after `afterS`. */
function agesS(cadence: Cadence, count: number, afterS = 0): readonly number[] {
  const times: number[] = [];
  let time = ATTACHED_AT + afterS * 1_000;
  while (times.length < count) times.push((time = nextPollTime(cadence, time)));
  return times.map((at) => (at - ATTACHED_AT) / 1_000);
}

const HOUR_S = 3_600;

describe("the ages of a job at which it is polled", () => {
  it.each([
    [
      "at the age of 10 s and then each time its age has grown by a fifth, at least 3 s, when the durations of earlier jobs like it are unknown",
      {},
      0,
      [10, 13, 16, 19.2, 23.04, 27.648],
    ],
    [
      "at least once a minute in its first hour, when the durations of earlier jobs like it are unknown",
      {},
      1_800,
      [1_854.986, 1_914.986, 1_974.986],
    ],
    [
      "every 5 minutes after its first hour, when the durations of earlier jobs like it are unknown",
      {},
      HOUR_S,
      [3_654.986, 3_954.986, 4_254.986],
    ],
    [
      "at the ages at which earlier jobs like it ended, and after these each time its age has grown by a fifth",
      { likelyAgesMs: [20_000, 30_000, 50_000] },
      0,
      [20, 30, 50, 60, 72],
    ],
    [
      "at the ages at which earlier jobs like it ended, but at least 3 s apart, when these ages are nearly equal",
      { likelyAgesMs: [20_000, 20_500, 21_000, 40_000] },
      0,
      [20, 23, 26, 40],
    ],
    [
      "at least 8 s apart when the provider allows one poll in 8 s",
      { gapMs: 8_000 },
      0,
      [10, 18, 26, 34],
    ],
    [
      "only from the age at which the hook is overdue, when a hook is expected",
      { hookWaitMs: 120_000 },
      0,
      [120, 144, 172.8],
    ],
    [
      "only from the age by which nearly all earlier jobs like it had ended, when a hook is expected",
      { hookWaitMs: 120_000, likelyAgesMs: [60_000, 90_000, 600_000] },
      0,
      [600, 660],
    ],
    [
      "only from the age at which the hook is overdue, when a hook is expected and earlier jobs of its kind were faster",
      { hookWaitMs: 120_000, likelyAgesMs: [10_000, 30_000] },
      0,
      [120, 144],
    ],
    [
      "as if no hook could come, when a hook is expected but polling is set not to wait for it",
      { hookWaitMs: 0 },
      0,
      [10, 13, 16],
    ],
    [
      "at the ages at which earlier jobs like it ended, when a hook is expected but polling is set not to wait for it",
      { hookWaitMs: 0, likelyAgesMs: [20_000, 600_000] },
      0,
      [20, 600],
    ],
    [
      "5 minutes after the age of one hour, when it was polled at exactly that age",
      { likelyAgesMs: [3_600_000] },
      0,
      [3_600, 3_900],
    ],
    [
      "every 5 minutes after the age of the longest earlier job like it, when this is more than an hour",
      { likelyAgesMs: [5_400_000, 7_200_000] },
      0,
      [5_400, 7_200, 7_500],
    ],
  ] as const)("a job is polled %s", (_, given, afterS, expected) => {
    expect(agesS({ ...UNKNOWN, ...given }, expected.length, afterS)).toEqual(expected);
  });

  it("two tasks poll jobs of the same kind at ages and after waits that differ by up to a tenth, by a number derived from each task's id", () => {
    const likelyAgesMs = [4_000_000];
    expect(agesS({ ...UNKNOWN, likelyAgesMs, jitter: 0 }, 2)).toEqual([3_800, 4_085]);
    expect(agesS({ ...UNKNOWN, likelyAgesMs, jitter: 1 }, 2)).toEqual([4_200, 4_515]);
  });
});

const cadences: fc.Arbitrary<Cadence> = fc.record({
  attachedAt: fc.constant(ATTACHED_AT),
  likelyAgesMs: fc
    .array(fc.nat(10 * HOUR_S * 1_000), { maxLength: 10 })
    .map((ages) => ages.toSorted((a, b) => a - b)),
  hookWaitMs: fc.option(fc.nat(600_000)),
  firstMs: fc.nat(20_000),
  gapMs: fc.nat(20_000),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});

describe("the grid of poll times", () => {
  it("nextPollTime returns a time later than the given one, at any age of the job and also when the clock has stepped back", () => {
    fc.assert(
      fc.property(cadences, fc.integer({ min: -1e9, max: 4e10 }), (cadence, afterMs) => {
        expect(nextPollTime(cadence, ATTACHED_AT + afterMs)).toBeGreaterThan(ATTACHED_AT + afterMs);
      }),
    );
  });

  it("previousPollTime returns the time of the job's attachment for the first poll, and that of the first poll for the second", () => {
    const asked = [9, 10, 12, 13].map((ageS) => ATTACHED_AT + ageS * 1_000);
    const previous = asked.map((askedAt) => previousPollTime(UNKNOWN, askedAt) - ATTACHED_AT);
    expect(previous).toEqual([0, 0, 0, 10_000]);
  });

  it("nextPollTime and previousPollTime return the same times whenever they are called between two polls, so that poll times need not be stored", () => {
    fc.assert(
      fc.property(
        cadences,
        fc.nat(2e7),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (cadence, afterMs, part) => {
          const previous = nextPollTime(cadence, ATTACHED_AT + afterMs);
          const next = nextPollTime(cadence, previous);
          const between = previous + Math.floor(part * (next - previous));
          expect(nextPollTime(cadence, between)).toBe(next);
          expect(next - previous).toBeGreaterThanOrEqual(Math.max(3_000, cadence.gapMs));
          const nextButOne = nextPollTime(cadence, next);
          const askedAt = next + Math.floor(part * (nextButOne - next));
          expect(previousPollTime(cadence, askedAt)).toBe(previous);
        },
      ),
    );
  });
});
