import { expect, it } from "vitest";
import { upstreamsOf } from "../../src/api/search/upstreams.ts";
import { JOB_BOUNDS_MS } from "../../src/index-db/buckets.ts";

const HOUR_S = 3600;
const FREE = { isPoolMember: false, inFlight: 5, held: 0, waiting: 0, waitingSince: null } as const;

/** Builds the ended jobs of a connection: completed ones that end at these bounds, in milliseconds, and failures. */
function jobs(
  provider: string,
  completed: Readonly<Record<number, number>>,
  failures: Record<string, number> = {},
) {
  const times = [...JOB_BOUNDS_MS, Infinity].map((bound) => completed[bound] ?? 0);
  return { provider, completed: times.reduce((sum, each) => sum + each, 0), failures, times };
}

/** Builds a series of steps, each with the ended jobs of one hour or day. */
function series(steps: readonly ReturnType<typeof jobs>[][], stepS: 3600 | 86_400 = HOUR_S) {
  const listed = steps.map((each) => ({ jobs: each }));
  return { steps: listed, step_s: stepS, job_bounds_ms: JOB_BOUNDS_MS };
}

/** Tells whether an upstream with these ended jobs counts as failing. */
const isFailing = (completed: number, failures: Record<string, number>) =>
  upstreamsOf(series([[jobs("fal", { 2_000: completed }, failures)]]), [])[0]?.isFailing;

/** Returns whether an upstream is slow whose jobs take these times in successive hours or days, and how slow. */
const slow = (stepS: 3600 | 86_400, ...times: readonly (readonly [ms: number, jobs: number])[]) =>
  upstreamsOf(
    series(
      times.map(([ms, count]) => [jobs("fal", { [ms]: count })]),
      stepS,
    ),
    [],
  )[0]?.slow;

it("the numbers of an upstream add up the jobs of all hours, and count failures by the caller (content, parameters, a cancellation) apart", () => {
  const failures = { moderation: 2, invalid_input: 1, canceled: 1, provider: 1, timeout: 1 };
  const [fal] = upstreamsOf(
    series([[jobs("fal", { 2_000: 4 }, failures)], [], [jobs("fal", { 10_000: 4 })]]),
    [],
  );
  expect(fal).toMatchObject({
    name: "fal",
    completed: 8,
    failed: 2,
    failedByCaller: 4,
    medianMs: 2_000,
    p95Ms: 9_750,
    steps: [
      { completed: 4, failed: 2, medianMs: 1_500 },
      { completed: 0, failed: 0, medianMs: null },
      { completed: 4, failed: 0, medianMs: 8_750 },
    ],
    places: null,
  });
});

it("an upstream fails from three failed jobs on that are a tenth of its ended jobs, without those that failed by the caller", () => {
  expect(isFailing(27, { provider: 2, timeout: 1 })).toBe(true);
  expect(isFailing(28, { provider: 3 })).toBe(false);
  expect(isFailing(0, { provider: 2 })).toBe(false);
  expect(isFailing(3, { moderation: 9 })).toBe(false);
});

it("an upstream is slow when five jobs of the last three hours, or of today, took half as long again as the jobs before", () => {
  const usual = [10_000, 9] as const;
  const before = { beforeMs: 8_750 };
  expect(slow(HOUR_S, usual, [20_000, 2], [20_000, 2], [20_000, 1])).toEqual({
    ...before,
    latestMs: 17_500,
  });
  expect(slow(HOUR_S, usual, [20_000, 2], [20_000, 1], [20_000, 1])).toBeNull();
  expect(slow(HOUR_S, [10_000, 4], [20_000, 2], [20_000, 2], [20_000, 1])).toBeNull();
  expect(slow(HOUR_S, usual, [15_000, 2], [15_000, 2], [10_000, 3])).toBeNull();
  expect(slow(86_400, usual, [20_000, 5])).toEqual({ ...before, latestMs: 17_500 });
});

it("upstreams that fail come first, then slow ones, then those with the most jobs; one with places is listed without a job", () => {
  const steady = jobs("steady", { 2_000: 50 });
  const steps = [
    [jobs("few", { 2_000: 5 }), steady, jobs("slow", { 2_000: 9 })],
    [jobs("slow", { 60_000: 9 })],
    [],
    [jobs("broken", {}, { provider: 3 })],
  ];
  const places = { ...FREE, connection: "idle" };
  const upstreams = upstreamsOf(series(steps), [places]);
  expect(upstreams.map(({ name }) => name)).toEqual(["broken", "slow", "steady", "few", "idle"]);
  expect(upstreams.at(-1)).toMatchObject({ medianMs: null, completed: 0, places });
});
