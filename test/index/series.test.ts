import { OUTCOMES } from "../../src/core/record/outcome.ts";
import { expect, it } from "vitest";
import { BOUNDS_MS } from "../../src/index-db/buckets.ts";
import { ready } from "../../src/index-db/database.ts";
import { overdueTasks, removeExpired } from "../../src/index-db/sweep.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import { invalid, refusal } from "../worker/client.ts";
import { START, START_S } from "../worker/clock.ts";
import { BOUND, gated } from "./bindings.ts";
import {
  DROP_CREDITS,
  answerOf,
  aRow,
  callWith,
  cron,
  DAY,
  db,
  HOUR,
  insert,
  UNANSWERED,
  useIndex,
  WITHOUT_COPIES,
} from "./support.ts";

useIndex();

const HOUR_S = 3600;
/** Beginning of the hour of `START`, in seconds. */
const THIS_HOUR = START_S - (START_S % HOUR_S);

/** Returns the totals of a series that are not 0, as text. */
const totals = (series: object) => JSON.stringify(series).match(/"total":[1-9]/g);

const buckets = (at: Readonly<Record<number, number>> = {}) =>
  Array.from({ length: BOUNDS_MS.length + 1 }, (_, bucket) => at[bucket] ?? 0);

const STEP = {
  tasks: { total: 0, pending: 0, processing: 0, completed: 0, failed: 0, failures: {} },
  callbacks: { waiting: 0, sending: 0, delivered: 0, failed: 0, attempts: 0, outcomes: {} },
  latency: { first_attempt: buckets(), settled: buckets() },
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

it("GET /v1/stats/series has a step for each of the last 25 hours, with the tasks created in it", async () => {
  await tasksOfThreeHours();
  const { steps, ...head } = await answerOf("/v1/stats/series");
  expect(head).toEqual({
    counted_at: START_S,
    since: THIS_HOUR - 24 * HOUR_S,
    until: THIS_HOUR + HOUR_S,
    step_s: HOUR_S,
    bounds_ms: BOUNDS_MS,
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

it("GET /v1/stats/series sums whole days with ?step=86400, and covers the time range from ?since to ?until", async () => {
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

const answers = () =>
  Promise.all(
    ["/v1/stats/series", "/v1/stats/series?step=86400", "/v1/hosts"].map((path) => answerOf(path)),
  );

/** Statement of the release before the table `host_counts`, which counted by model and host together. */
const COUNT_BY_MODEL_AND_HOST = `
  INSERT INTO rollups (hour, model, host, status, callback, tasks, attempts, refunds,
    ${OUTCOMES.map((outcome) => `attempts_${outcome}`).join(", ")})
  SELECT created_at - created_at % ${HOUR}, model, coalesce(host, ''), status, coalesce(callback, ''), count(*),
    sum(attempts), sum(refunded), ${OUTCOMES.map((outcome) => `total(outcomes ->> '${outcome}')`).join(", ")}
  FROM tasks GROUP BY 1, 2, 3, 4, 5`;

/** Puts the index back into the state in which the release before the table `summaries` has left it. */
async function downgrade(): Promise<void> {
  const triggers = await db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%_stale_on_%'")
    .all<{ readonly name: string }>();
  const undo = [
    "DROP TRIGGER hosts_in_rollups",
    "DELETE FROM rollups",
    COUNT_BY_MODEL_AND_HOST,
    ...triggers.results.map(({ name }) => `DROP TRIGGER ${name}`),
    ...["summaries", "stale_hours", "failures", "host_counts"].map(
      (table) => `DROP TABLE ${table}`,
    ),
    "DROP INDEX tasks_submit_unknown",
    ...["category", "submission"].map((column) => `ALTER TABLE tasks DROP COLUMN ${column}`),
    ...DROP_CREDITS,
    ...WITHOUT_COPIES,
    "DELETE FROM relay_schema WHERE version > 8",
  ];
  await db.batch(undo.map((sql) => db.prepare(sql)));
}

it("GET /v1/stats/series and /v1/hosts show an earlier release's counts after a migration or downgrade, before and after the cron runs", async () => {
  await tasksOfThreeHours();
  const known = JSON.stringify(await answers()).replaceAll(
    '"moderation":1,"unknown":1',
    '"unknown":2',
  );
  await downgrade();
  // The proxy hides the database from the isolate's memory, which does not migrate it twice.
  await ready(new Proxy(db, BOUND));
  expect(JSON.stringify(await answers())).toBe(known);
  await cron();
  expect(JSON.stringify(await answers())).toBe(known);
  await db.prepare("UPDATE rollups SET tasks = tasks + 1, attempts = attempts + 5").run();
  const changed = JSON.stringify(await answers());
  expect(changed).not.toBe(known);
  await cron();
  expect(JSON.stringify(await answers())).toBe(changed);
  expect(await db.prepare("SELECT count(*) AS hours FROM stale_hours").first("hours")).toBe(0);
});

/** Pattern of the statements of migrations that need a free page of the database. */
const MIGRATION = /^(?:CREATE|ALTER) TABLE (?!.*relay_schema)/;

it("in a full index database, whose missing migrations fail until rows are removed, the cron removes expired rows and finds overdue tasks", async () => {
  await insert(aRow({ createdAt: START - DAY, settledAt: START - DAY, expiresAt: START + 1 }));
  await insert(aRow({ createdAt: START - DAY, dueAt: START }));
  await downgrade();
  const full = gated(db, async (sql) => {
    if (MIGRATION.test(sql)) throw new Error("D1_ERROR: database or disk is full: SQLITE_FULL");
  });
  const retention = { retentionMs: 28 * DAY, indexRetentionMs: DAY / 2 };
  expect(await removeExpired(full, retention, START + 2, new TimeBudget(DAY, 40))).toBe(1);
  expect(await overdueTasks(full, START + 2, 10)).toHaveLength(1);
  await expect(ready(full)).rejects.toThrow("is full");
  // The proxy hides the database from the isolate's memory, which does not migrate it twice.
  await ready(new Proxy(db, BOUND));
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
