import { expect, it } from "vitest";
import { rollUp } from "../../src/index-db/rollups.ts";
import { removeExpired } from "../../src/index-db/sweep.ts";
import { pass, START } from "../worker/clock.ts";
import { allRows, aRow, DAY, db, HOUR, insert, list, useIndex } from "./support.ts";

useIndex();

const NOON = START - (START % HOUR);

const TRIGGERS = ["rollups", "latencies"].flatMap((table) =>
  ["INSERT", "UPDATE", "DELETE"].map(
    (change) =>
      `CREATE TRIGGER seen_${table}_${change} AFTER ${change} ON ${table}
       BEGIN INSERT INTO seen (n) VALUES (1); END`,
  ),
);

/** Returns how many rows of the counts `work` writes. */
async function writesOf(work: () => Promise<unknown>): Promise<number> {
  await db.batch(
    ["CREATE TABLE seen (n INTEGER)", ...TRIGGERS].map((statement) => db.prepare(statement)),
  );
  await work();
  const seen = await db.prepare("SELECT count(*) AS n FROM seen").first<{ n: number }>();
  const names = TRIGGERS.map((statement) => statement.split(" ")[2] ?? "");
  const drops = [...names.map((name) => `DROP TRIGGER ${name}`), "DROP TABLE seen"];
  await db.batch(drops.map((statement) => db.prepare(statement)));
  return seen?.n ?? 0;
}

async function counted(): Promise<readonly unknown[]> {
  const { results } = await db.prepare("SELECT host, tasks FROM rollups ORDER BY 1").all();
  return results;
}

it("a rollup writes only the counts that have changed", async () => {
  await insert(...Array.from({ length: 20 }, () => aRow({ host: "x.example.net" })));
  expect(await writesOf(() => rollUp(db, 2 * DAY, NOON))).toBeGreaterThan(0);
  expect(await writesOf(() => rollUp(db, 2 * DAY, NOON))).toBe(0);
  await insert(aRow({ host: "y.example.net", firstAttemptMs: null, settledMs: null }));
  // The count of the task and its latency in the index.
  expect(await writesOf(() => rollUp(db, 2 * DAY, NOON))).toBeLessThanOrEqual(2);
  expect(await counted()).toEqual([
    { host: "x.example.net", tasks: 20 },
    { host: "y.example.net", tasks: 1 },
  ]);
});

it("a rollup counts only the present hours again between two full hours", async () => {
  await insert(aRow({ createdAt: NOON - 20 * HOUR }), aRow({ createdAt: NOON }));
  await rollUp(db, 2 * DAY, NOON + 20 * 60_000);
  expect(await counted()).toHaveLength(1);
  await rollUp(db, 2 * DAY, NOON + HOUR);
  expect(await counted()).toHaveLength(2);
});

it("a rollup counts 100 hosts by name, hosts with failures first, and the rest as one", async () => {
  const hosts = Array.from({ length: 130 }, (_, i) => `h${i}.example.net`);
  await insert(
    ...hosts.map((host) => aRow({ host })),
    aRow({ host: "zz-failing.example.net", callback: "failed" }),
  );
  await rollUp(db, 2 * DAY, NOON);
  const rows = await counted();
  expect(rows).toHaveLength(101);
  expect(rows).toContainEqual({ host: "*", tasks: 31 });
  expect(rows).toContainEqual({ host: "zz-failing.example.net", tasks: 1 });
});

it("5,500 expired rows are removed in one run", async () => {
  const createdAt = START - 29 * DAY;
  const old = Array.from({ length: 5_500 }, () =>
    aRow({ createdAt, settledAt: createdAt, expiresAt: START + 1_000 }),
  );
  await insert(...old);
  pass(2_000);
  expect(await removeExpired(db, 28 * DAY, Date.now())).toBe(5_500);
  expect(await allRows()).toEqual([]);
});

it("expired rows are not listed before they are removed", async () => {
  await insert(aRow({ expiresAt: START + 1_000 }));
  expect((await list()).data).toHaveLength(1);
  pass(1_000);
  expect((await list()).data).toEqual([]);
});
