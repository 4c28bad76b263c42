import { expect, it } from "vitest";
import { rollUp } from "../../src/index-db/rollups.ts";
import { removeExpired } from "../../src/index-db/sweep.ts";
import { TimeBudget } from "../../src/time-budget.ts";
import { pass, START } from "../worker/clock.ts";
import { gated, metered } from "./bindings.ts";
import { allRows, aRow, DAY, db, HOUR, insert, list, useIndex } from "./support.ts";

useIndex();

const NOON = START - (START % HOUR);

const RETENTION = { retentionMs: 28 * DAY, indexRetentionMs: 28 * DAY };

const rollUpNow = (database = db) => rollUp(database, 2 * DAY, NOON, new TimeBudget(HOUR));

/** Counts the changed hours. @returns the numbers of rows that D1 bills for it. */
async function rowsOfRollUp() {
  const { rows, INDEX_DB } = metered(db);
  await rollUpNow(INDEX_DB);
  return rows;
}

async function counted(): Promise<readonly unknown[]> {
  const { results } = await db.prepare("SELECT host, tasks FROM rollups ORDER BY 1").all();
  return results;
}

it("a rollup reads each index row of an hour with changed tasks twice, and no row of other hours", async () => {
  await insert(...Array.from({ length: 2_000 }, (_, i) => aRow({ host: `h${i % 5}.example.net` })));
  expect((await rowsOfRollUp()).read).toBeLessThanOrEqual(2 * 2_000 + 50);
  const unchanged = await rowsOfRollUp();
  expect(unchanged.read).toBeLessThanOrEqual(5);
  expect(unchanged.written).toBe(0);
  await insert(aRow({ createdAt: NOON - 2 * HOUR }));
  expect((await rowsOfRollUp()).read).toBeLessThanOrEqual(50);
  expect(await counted()).toHaveLength(6);
});

it("a rollup writes only the counts that have changed, and 3 rows that mark the hour as being counted", async () => {
  await insert(...Array.from({ length: 20 }, () => aRow({ host: "x.example.net" })));
  await rollUpNow();
  await insert(aRow({ host: "y.example.net", firstAttemptMs: null, settledMs: null }));
  // The count of the task and its latency in the index.
  expect((await rowsOfRollUp()).written).toBe(2 + 3);
  expect(await counted()).toEqual([
    { host: "x.example.net", tasks: 20 },
    { host: "y.example.net", tasks: 1 },
  ]);
});

it.each([
  [
    "whose tasks change while they are counted",
    async () => insert(aRow({ host: "y.example.net" })),
  ],
  ["whose counting is interrupted", () => Promise.reject(new Error("the isolate was stopped"))],
])("the hour of a rollup %s is counted again by the next run", async (_, meanwhile) => {
  await insert(aRow({ host: "x.example.net" }));
  let isFirst = true;
  const interrupted = gated(db, async (sql) => {
    if (!isFirst || !sql.includes("INSERT INTO rollups")) return;
    isFirst = false;
    await meanwhile();
  });
  await rollUpNow(interrupted).catch(() => undefined);
  await rollUpNow();
  const hosts = (await allRows()).map(({ host }) => String(host)).toSorted();
  expect(await counted()).toEqual(hosts.map((host) => ({ host, tasks: 1 })));
});

it("a rollup writes nothing for an hour that a later rollup has counted meanwhile", async () => {
  await insert(aRow({ host: "x.example.net" }));
  let isFirst = true;
  const overtaken = gated(db, async (sql) => {
    if (!isFirst || !sql.includes("INSERT INTO rollups")) return;
    isFirst = false;
    await insert(aRow({ host: "x.example.net" }));
    await rollUpNow();
  });
  await rollUpNow(overtaken);
  expect(await counted()).toEqual([{ host: "x.example.net", tasks: 2 }]);
});

it("a rollup starts to count no further hour once its time budget is spent", async () => {
  await insert(aRow({ createdAt: NOON - HOUR }), aRow({ createdAt: NOON }));
  const slow = gated(db, async (sql) => {
    if (sql.includes("INSERT INTO rollups")) pass(HOUR);
  });
  await rollUpNow(slow);
  expect(await counted()).toHaveLength(1);
  await rollUpNow();
  expect(await counted()).toHaveLength(2);
});

it("a rollup that runs later than the first minutes of an hour counts again only the most recent hours", async () => {
  await insert(aRow({ createdAt: NOON - 20 * HOUR }), aRow({ createdAt: NOON }));
  await rollUp(db, 2 * DAY, NOON + 20 * 60_000, new TimeBudget(HOUR));
  expect(await counted()).toHaveLength(1);
  await rollUp(db, 2 * DAY, NOON + HOUR, new TimeBudget(HOUR));
  expect(await counted()).toHaveLength(2);
});

it("a rollup counts 100 hosts by name, hosts with failures first, and all other hosts together under one name", async () => {
  const hosts = Array.from({ length: 130 }, (_, i) => `h${i}.example.net`);
  await insert(
    ...hosts.map((host) => aRow({ host })),
    aRow({ host: "zz-failing.example.net", callback: "failed" }),
  );
  await rollUpNow();
  const rows = await counted();
  expect(rows).toHaveLength(101);
  expect(rows).toContainEqual({ host: "*", tasks: 31 });
  expect(rows).toContainEqual({ host: "zz-failing.example.net", tasks: 1 });
});

it("expired index rows are removed in rounds of 5,000 until the time budget of the cron is spent", async () => {
  const createdAt = START - 29 * DAY;
  const old = Array.from({ length: 5_500 }, () =>
    aRow({ createdAt, settledAt: createdAt, expiresAt: START + 1_000 }),
  );
  await insert(...old);
  pass(2_000);
  const slow = gated(db, async (sql) => void (sql.includes("DELETE FROM tasks") && pass(1)));
  expect(await removeExpired(slow, RETENTION, Date.now(), new TimeBudget(1))).toBe(5_000);
  expect(await removeExpired(slow, RETENTION, Date.now(), new TimeBudget(1))).toBe(500);
});

it("GET /v1/tasks does not list an expired task, even before its index row is removed", async () => {
  await insert(aRow({ expiresAt: START + 1_000 }));
  expect((await list()).data).toHaveLength(1);
  pass(1_000);
  expect((await list()).data).toEqual([]);
});
