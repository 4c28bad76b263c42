import { expect, it } from "vitest";
import * as z from "zod";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { BOUNDS_MS, quantile } from "../../src/index-db/buckets.ts";
import { call, invalid, refusal } from "../worker/client.ts";
import { pass, START, START_S } from "../worker/clock.ts";
import { aRow, cron, HOUR, insert, useIndex } from "./support.ts";

useIndex();

const HOUR_S = 3600;

const Stats = z.looseObject({ since: z.int(), until: z.int() });

async function stats(query = ""): Promise<z.output<typeof Stats>> {
  const response = await call(`/v1/stats${query}`);
  if (response.status !== 200) throw new Error(await response.text());
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  return Stats.parse(await response.json());
}

const EMPTY = { p50: null, p95: null, p99: null };

const host = (n: number) => `h${n}.example.net`;

it("GET /v1/stats answers zeros and nulls when there are no tasks", async () => {
  await cron();
  expect(await stats()).toEqual({
    since: START_S - 24 * HOUR_S,
    until: START_S + HOUR_S,
    counted_at: null,
    tasks: { total: 0 },
    callbacks: { success_rate: null, attempts_per_callback: null },
    credits: { held: 0, earned: 0, released: 0, refunded: 0 },
    models: {},
    outputs: { kept: 0, bytes: 0, lost: 0 },
    latency_ms: { first_attempt: EMPTY, settled: EMPTY },
    found_late_ms: [],
    top_failing_hosts: [],
    backlog: { tasks: 0, oldest_age_ms: null },
    submit_unknown: { tasks: 0, oldest_age_ms: null },
    index: { lag_ms: EMPTY, overdue: { tasks: 0, oldest_age_ms: null } },
  });
});

it("GET /v1/stats states when the cron has counted, the tasks by status, callback and model, the callbacks' success rate and the attempts per callback", async () => {
  await insert(
    aRow({ model: "a" }),
    aRow({ model: "a", attempts: 2 }),
    aRow({ model: "__proto__", callback: "failed", attempts: 3, status: "failed" }),
    aRow({ model: "b", callback: null, host: null, attempts: 0 }),
    aRow({ model: "b", status: "pending", callback: "waiting", attempts: 0, dueAt: START }),
    aRow({ model: "b", callback: "sending", attempts: 1, dueAt: START }),
    aRow({ model: "b", callback: "retrying", attempts: 1, dueAt: START }),
  );
  await cron();
  const { counted_at: countedAt, tasks, callbacks, models } = await stats();
  expect(countedAt).toBe(START_S);
  expect(tasks).toEqual({ total: 7, completed: 5, failed: 1, pending: 1 });
  expect(callbacks).toEqual({
    delivered: 2,
    failed: 1,
    waiting: 1,
    sending: 1,
    retrying: 1,
    success_rate: 0.6667,
    attempts_per_callback: 2,
  });
  expect(JSON.stringify(models)).toBe('{"__proto__":1,"a":2,"b":4}');
});

it("GET /v1/stats sums the credits of the tasks in its time range that were held, earned, released and refunded", async () => {
  const credits = {
    creditsHeld: 200,
    creditsEarned: 41,
    creditsReleased: 159,
    creditsRefunded: 60,
  };
  await insert(aRow(), aRow(credits), aRow({ ...credits, status: "completed", creditsHeld: 7 }));
  await cron();
  expect(await stats()).toMatchObject({
    credits: { held: 207, earned: 82, released: 318, refunded: 120 },
  });
});

it("GET /v1/stats estimates the quantiles of latencies by interpolation within histogram buckets", async () => {
  const rows = Array.from({ length: 100 }, (_, i) =>
    aRow({ firstAttemptMs: i < 90 ? 3 : 70, settledMs: i < 50 ? 40 : 200_000 }),
  );
  await insert(...rows);
  await cron();
  expect((await stats())["latency_ms"]).toEqual({
    first_attempt: { p50: 3, p95: 75, p99: 95 },
    settled: { p50: 50, p95: 198_000, p99: 199_600 },
  });
});

const late = (provider: string | null, foundBy: IndexRow["foundBy"], foundLateMs: number | null) =>
  aRow({ provider, foundBy, foundLateMs });

it("GET /v1/stats says how late the relay has found results, for each provider and each source (hook, poll or event)", async () => {
  await insert(
    ...[4_000, 4_500, 5_000].map((ms) => late("ark", "poll", ms)),
    late("ark", "hook", 80),
    late(null, "report", 0),
    late("ark", "poll", null),
    late("ark", null, null),
  );
  await cron();
  expect((await stats())["found_late_ms"]).toEqual([
    { provider: null, found_by: "report", tasks: 1, mean: 0, p50: 3, p95: 5, p99: 5 },
    { provider: "ark", found_by: "hook", tasks: 1, mean: 80, p50: 75, p95: 98, p99: 100 },
    {
      provider: "ark",
      found_by: "poll",
      tasks: 3,
      mean: 4_500,
      p50: 3_750,
      p95: 4_875,
      p99: 4_975,
    },
  ]);
});

it("GET /v1/stats names the ten hosts with the most failed callbacks", async () => {
  const rows = Array.from({ length: 12 }, (_, n) => [
    aRow({ host: host(n) }),
    ...Array.from({ length: n }, () => aRow({ host: host(n), callback: "failed" })),
  ]);
  await insert(...rows.flat());
  await cron();
  expect((await stats())["top_failing_hosts"]).toEqual(
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((n) => ({ host: host(n), failed: n, tasks: n + 1 })),
  );
});

it("GET /v1/stats counts the tasks with work left to do, and the overdue ones among them, as of the request, and not as of the cron's last count", async () => {
  await insert(
    aRow({ createdAt: START - HOUR, settledAt: null, dueAt: START - 60_000, expiresAt: null }),
    aRow({ createdAt: START - 2 * HOUR, settledAt: null, dueAt: START + 1, expiresAt: null }),
    aRow(),
  );
  expect(await stats()).toMatchObject({
    backlog: { tasks: 2, oldest_age_ms: 2 * HOUR },
    index: { overdue: { tasks: 0, oldest_age_ms: null } },
  });
  pass(1);
  expect(await stats()).toMatchObject({
    index: { overdue: { tasks: 1, oldest_age_ms: 60_001 } },
  });
});

it("GET /v1/stats widens the time range from ?since to ?until to whole hours, without the hour that begins exactly at the end", async () => {
  const hour = START_S - (START_S % HOUR_S);
  for (const [n, model] of ["a", "b", "c"].entries()) {
    await insert(aRow({ createdAt: (hour + (n - 2) * HOUR_S) * 1000, model }));
  }
  await cron();
  const { since, until, models } = await stats(`?since=${hour - HOUR_S + 5}&until=${hour - 5}`);
  expect({ since, until, models }).toEqual({
    since: hour - HOUR_S,
    until: hour,
    models: { b: 1 },
  });
  expect((await stats(`?since=${hour - 2 * HOUR_S}`))["models"]).toEqual({ a: 1, b: 1, c: 1 });
});

it.each([
  ["since=x", "not a number", "/since"],
  ["until=1e3", "not only digits", "/until"],
  ["since=2524651200000", "milliseconds instead of seconds", "/since"],
  ["model=m", "no parameter of the route", "/model"],
  [`since=${START_S + 2 * HOUR_S}`, "two hours ahead", "/since"],
  ["since=7200&until=7200", "an empty range", "/since"],
  ["since=200&until=100", "an end before the beginning", "/since"],
  ["since=5&until=5", "an empty range", "/since"],
  ["since=1&since=2", "given twice", "/since"],
])(
  "GET /v1/stats refuses the query ?%s (%s) and names the parameter %s",
  async (query, _, path) => {
    expect(await refusal(await call(`/v1/stats?${query}`))).toEqual(invalid(path));
  },
);

const counts = (at: Readonly<Record<number, number>>) =>
  Array.from({ length: BOUNDS_MS.length + 1 }, (_, bucket) => at[bucket] ?? 0);

it.each([
  ["0.5 of no values is null", {}, 0.5, null],
  ["0.5 of values that are all in the bucket from 0 to 5 ms is 3 ms", { 0: 10 }, 0.5, 3],
  ["0.5 of values that are all in the bucket from 5 to 10 ms is 8 ms", { 1: 10 }, 0.5, 8],
  ["0 is the lower bound of the first bucket with values", { 2: 4 }, 0, 10],
  ["1 is the upper bound of the last bucket with values", { 2: 4, 4: 1 }, 1, 100],
  ["0.99 of values that exceed the largest bound is that bound", { 20: 3 }, 0.99, 3_600_000],
  [
    "0.5 of values in two buckets, half in each, is the upper bound of the first",
    { 0: 50, 5: 50 },
    0.5,
    5,
  ],
])(
  "quantile() interpolates between the bounds of the histogram bucket in which the quantile lies: the quantile %s",
  (_, at, q, expected) => {
    expect(quantile(counts(at), q)).toBe(expected);
  },
);
