import { expect, it } from "vitest";
import { BOUNDS_MS, JOB_BOUNDS_MS } from "../../src/index-db/buckets.ts";
import { invalid, refusal } from "../worker/client.ts";
import { START, START_S } from "../worker/clock.ts";
import { answerOf, aRow, callWith, cron, HOUR, insert, UNANSWERED, useIndex } from "./support.ts";

useIndex();

const HOUR_S = 3600;
/** Beginning of the hour of `START`, in seconds. */
const THIS_HOUR = START_S - (START_S % HOUR_S);

/** Returns the totals of a series that are not 0, as text. */
const totals = (series: object) => JSON.stringify(series).match(/"total":[1-9]/g);

const buckets = (at: Readonly<Record<number, number>> = {}) =>
  Array.from({ length: BOUNDS_MS.length + 1 }, (_, bucket) => at[bucket] ?? 0);

/** Returns a histogram of the times of jobs with these numbers in its buckets, and 0 in all others. */
const times = (at: Readonly<Record<number, number>>) =>
  Array.from({ length: JOB_BOUNDS_MS.length + 1 }, (_, bucket) => at[bucket] ?? 0);

const STEP = {
  tasks: { total: 0, pending: 0, processing: 0, completed: 0, failed: 0, failures: {} },
  callbacks: {
    waiting: 0,
    sending: 0,
    retrying: 0,
    paused: 0,
    delivered: 0,
    failed: 0,
    attempts: 0,
    outcomes: {},
  },
  latency: { first_attempt: buckets(), settled: buckets() },
  credits: { held: 0, earned: 0, released: 0, refunded: 0 },
  jobs: [],
};

const NO_CALLBACK = { callback: null, host: null, attempts: 0, outcomes: {} } as const;

async function tasksOfThreeHours(): Promise<void> {
  await insert(
    aRow({ ...UNANSWERED, firstAttemptMs: 7, settledMs: 790_000 }),
    aRow({ ...NO_CALLBACK, createdAt: START - HOUR, status: "failed", category: "moderation" }),
    aRow({ ...NO_CALLBACK, createdAt: START - HOUR, status: "failed" }),
    aRow({ createdAt: START - 30 * HOUR, firstAttemptMs: 3, settledMs: 4 }),
  );
  await cron();
}

const FAILED = {
  ...STEP,
  tasks: { ...STEP.tasks, total: 1, completed: 1 },
  callbacks: { ...STEP.callbacks, failed: 1, attempts: 3, outcomes: { timeout: 3 } },
  latency: { first_attempt: buckets({ 1: 1 }), settled: buckets({ 17: 1 }) },
};

it("GET /v1/stats/series answers with one entry for each of the last 25 hours, which counts the tasks created in this hour", async () => {
  await tasksOfThreeHours();
  const { steps, ...head } = await answerOf("/v1/stats/series");
  expect(head).toEqual({
    counted_at: START_S,
    since: THIS_HOUR - 24 * HOUR_S,
    until: THIS_HOUR + HOUR_S,
    step_s: HOUR_S,
    bounds_ms: BOUNDS_MS,
    job_bounds_ms: JOB_BOUNDS_MS,
  });
  const expected = Array.from({ length: 25 }, (_, n) => ({
    at: THIS_HOUR - (24 - n) * HOUR_S,
    ...STEP,
  }));
  expected.splice(
    23,
    2,
    expect.objectContaining({
      at: THIS_HOUR - HOUR_S,
      tasks: { ...STEP.tasks, total: 2, failed: 2, failures: { moderation: 1, unknown: 1 } },
      callbacks: STEP.callbacks,
    }),
    { at: THIS_HOUR, ...FAILED },
  );
  expect(steps).toEqual(expected);
});

it.each([
  ["hour", ""],
  ["day", "?step=86400"],
])(
  "GET /v1/stats/series counts the ended jobs of each connection by %s, the completed ones by their time and the failed ones by category, and the credits",
  async (_, query) => {
    const ark = { provider: "ark", creditsEarned: 5, creditsHeld: 1 } as const;
    const failed = { ...ark, status: "failed", creditsEarned: 0, creditsRefunded: 5 } as const;
    await insert(
      aRow({ ...ark, jobMs: 1_000 }),
      aRow({ ...ark, jobMs: 1_001 }),
      aRow({ ...ark, jobMs: 8_000_000 }),
      aRow({ ...failed, category: "moderation", jobMs: 1 }),
      aRow({ ...failed, category: null, jobMs: null }),
      aRow({ provider: "fal", jobMs: 1 }),
      aRow({ ...ark, status: "processing", finishedAt: null, jobMs: null }),
      aRow({ jobMs: 1 }),
    );
    await cron();
    const { steps } = await answerOf(`/v1/stats/series${query}`);
    expect(Object.values(steps ?? []).at(-1)).toMatchObject({
      credits: { held: 6, earned: 20, released: 0, refunded: 10 },
      jobs: [
        {
          provider: "ark",
          completed: 3,
          failures: { moderation: 1, unknown: 1 },
          times: times({ 0: 1, 1: 1, [JOB_BOUNDS_MS.length]: 1 }),
        },
        { provider: "fal", completed: 1, failures: {}, times: times({ 0: 1 }) },
      ],
    });
  },
);

it("GET /v1/stats/series answers with one entry per day with ?step=86400, and with the entries from ?since to ?until where these are set", async () => {
  await tasksOfThreeHours();
  const days = await answerOf("/v1/stats/series?step=86400");
  expect(days).toMatchObject({ step_s: 86_400 });
  expect(totals(days)).toHaveLength(2);
  const past = await answerOf(
    `/v1/stats/series?since=${START_S - 31 * HOUR_S}&until=${START_S - 29 * HOUR_S}`,
  );
  expect(past["steps"]).toHaveLength(2);
  expect(totals(past)).toEqual(['"total":1']);
});

it.each([
  ["step=60", "neither 3600 nor 86400", "/step"],
  [`since=${START_S - 201 * HOUR_S}`, "more than 200 steps ago", "/since"],
  [`since=${START_S + 2 * HOUR_S}`, "two hours ahead", "/since"],
  ["host=a", "no parameter of the route", "/host"],
])(
  "GET /v1/stats/series refuses the query ?%s (%s) and names the parameter %s",
  async (query, _, path) => {
    expect(await refusal(await callWith({}, `/v1/stats/series?${query}`))).toEqual(invalid(path));
  },
);
