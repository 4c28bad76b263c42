import { expect, it } from "vitest";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { countHours } from "../../src/index-db/count-hours.ts";
import { removeExpired, ROUND_QUERIES, SWEEP_QUERIES } from "../../src/index-db/sweep.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import { pass, START } from "../worker/clock.ts";
import { gated, metered } from "./bindings.ts";
import { allRows, aRow, DAY, db, HOUR, insert, STORES_HOUR, useIndex } from "./support.ts";

useIndex();

const NOON = START - (START % HOUR);

const RETENTION = { retentionMs: 28 * DAY, indexRetentionMs: 7 * DAY };

const manyRows = (length: number, fields: Partial<IndexRow>) =>
  Array.from({ length }, () => aRow(fields));

const countNow = (database = db) => countHours(database, 2 * DAY, NOON, new TimeBudget(HOUR));

/** Counts the changed hours. @returns the numbers of rows that D1 bills for it. */
async function rowsOfCount() {
  const { rows, INDEX_DB } = metered(db);
  await countNow(INDEX_DB);
  return rows;
}

async function counted(): Promise<readonly unknown[]> {
  const { results } = await db
    .prepare("SELECT key1 AS host, number AS tasks FROM counts WHERE kind = 'hosts' ORDER BY 1")
    .all();
  return results;
}

it("the count of tasks by hour reads each index row of an hour with changed tasks at most eight times, and no row of other hours", async () => {
  await insert(...Array.from({ length: 2_000 }, (_, i) => aRow({ host: `h${i % 5}.example.net` })));
  expect((await rowsOfCount()).read).toBeLessThanOrEqual(8 * 2_000 + 400);
  const unchanged = await rowsOfCount();
  expect(unchanged.read).toBeLessThanOrEqual(20);
  expect(unchanged.written).toBe(0);
  await insert(aRow({ createdAt: NOON - 2 * HOUR }));
  expect((await rowsOfCount()).read).toBeLessThanOrEqual(300);
  expect(await counted()).toHaveLength(6);
});

it("the count of tasks by hour after one new task writes 11 rows: counts, totals, the sums of the hour and the day, and the list of hours to count", async () => {
  await insert(...manyRows(20, { host: "x.example.net" }));
  await countNow();
  await insert(aRow({ host: "y.example.net", firstAttemptMs: null, settledMs: null }));
  // Rows of the counts: of its model, its outcome, its host and its latency in the index, and the totals of accepted
  // tasks, ends and attempts.
  expect((await rowsOfCount()).written).toBe(4 + 3 + 2 + 2);
  expect(await counted()).toEqual([
    { host: "x.example.net", tasks: 20 },
    { host: "y.example.net", tasks: 1 },
  ]);
});

it.each([
  [
    "when a task of the hour was added during the count",
    async () => insert(aRow({ host: "y.example.net" })),
  ],
  ["when its count was interrupted", () => Promise.reject(new Error("the isolate was stopped"))],
])("the cron's next run counts the tasks of an hour again %s", async (_, meanwhile) => {
  await insert(aRow({ host: "x.example.net" }));
  let isFirst = true;
  const interrupted = gated(db, async (sql) => {
    if (!isFirst || !STORES_HOUR.test(sql)) return;
    isFirst = false;
    await meanwhile();
  });
  await countNow(interrupted).catch(() => undefined);
  await countNow();
  const hosts = (await allRows()).map(({ host }) => String(host)).toSorted();
  expect(await counted()).toEqual(hosts.map((host) => ({ host, tasks: 1 })));
});

it("when a later run of the cron has meanwhile counted the tasks of an hour, the earlier run writes no counts of this hour", async () => {
  await insert(aRow({ host: "x.example.net" }));
  let isFirst = true;
  const overtaken = gated(db, async (sql) => {
    if (!isFirst || !STORES_HOUR.test(sql)) return;
    isFirst = false;
    await insert(aRow({ host: "x.example.net" }));
    await countNow();
  });
  await countNow(overtaken);
  expect(await counted()).toEqual([{ host: "x.example.net", tasks: 2 }]);
});

it("the count of tasks by hour begins no further hour once its time is used up", async () => {
  await insert(aRow({ createdAt: NOON - HOUR }), aRow({ createdAt: NOON }));
  const slow = gated(db, async (sql) => {
    if (STORES_HOUR.test(sql)) pass(HOUR);
  });
  await countNow(slow);
  expect(await counted()).toHaveLength(1);
  await countNow();
  expect(await counted()).toHaveLength(2);
});

it("in the first ten minutes of an hour the cron counts all hours with changed tasks again, and later in the hour only those of the present quarter of the day", async () => {
  await insert(aRow({ createdAt: NOON - 20 * HOUR }), aRow({ createdAt: NOON }));
  await countHours(db, 2 * DAY, NOON + 20 * 60_000, new TimeBudget(HOUR));
  expect(await counted()).toHaveLength(1);
  await countHours(db, 2 * DAY, NOON + HOUR, new TimeBudget(HOUR));
  expect(await counted()).toHaveLength(2);
});

it("the count of tasks by hour counts 100 hosts by name, those with failures first, and all other hosts together under the name *", async () => {
  const hosts = Array.from({ length: 130 }, (_, i) => `h${i}.example.net`);
  await insert(
    ...hosts.map((host) => aRow({ host })),
    aRow({ host: "zz-failing.example.net", callback: "failed" }),
  );
  await countNow();
  const rows = await counted();
  expect(rows).toHaveLength(101);
  expect(rows).toContainEqual({ host: "*", tasks: 31 });
  expect(rows).toContainEqual({ host: "zz-failing.example.net", tasks: 1 });
});

it("when the time to remove expired index rows is used up, the cron ends after a round of 5,000 rows, and its next run continues from there", async () => {
  const createdAt = START - 8 * DAY;
  await insert(
    ...manyRows(500, { createdAt: createdAt - 1, expiresAt: START + 1 }),
    ...manyRows(4_500, { createdAt, callback: "failed" }),
    ...manyRows(500, { createdAt: createdAt + 1, expiresAt: START + 1 }),
  );
  pass(1);
  const slow = gated(db, async (sql) => void (sql.includes("DELETE FROM index_rows") && pass(1)));
  expect(await removeExpired(slow, RETENTION, Date.now(), new TimeBudget(1))).toBe(500);
  expect(
    await removeExpired(
      db,
      RETENTION,
      Date.now(),
      new TimeBudget(HOUR, SWEEP_QUERIES + ROUND_QUERIES),
    ),
  ).toBe(500);
});

it("to remove expired index rows, the cron reads the longer-lived rows of failed callbacks and open tasks only once a day", async () => {
  const createdAt = START - 9 * DAY;
  const kept = manyRows(2_000, { createdAt, callback: "failed" });
  const open = { createdAt: START - 40 * DAY, expiresAt: null, dueAt: START + DAY };
  const soon = aRow({ createdAt, expiresAt: START + 1 });
  await insert(...kept, soon, aRow(open), aRow(open));
  const { rows, INDEX_DB } = metered(db);
  const sweep = async () => {
    Object.assign(rows, { read: 0, written: 0 });
    const removed = await removeExpired(INDEX_DB, RETENTION, Date.now(), new TimeBudget(HOUR));
    return { removed, ...rows };
  };
  expect((await sweep()).read).toBeGreaterThan(2_000);
  pass(DAY - 1);
  const { removed, read, written } = await sweep();
  expect({ removed, written }).toEqual({ removed: 0, written: 0 });
  expect(read).toBeLessThanOrEqual(10);
  pass(1);
  expect((await sweep()).removed).toBe(1);
});
