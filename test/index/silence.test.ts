import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { lastEnd } from "../../src/index-db/last-end.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import type { IndexDatabase } from "../../src/index-db/index-database.ts";
import { pass, START, START_S } from "../worker/clock.ts";
import { BOUND, metered } from "./bindings.ts";
import {
  allowIndexAlert,
  OPERATOR_BINDINGS,
  OPERATOR_URL,
  operatorEvents,
  receivers,
} from "./operator.ts";
import { aRow, cron, db, HOUR, insert, logLines, TABLES, useIndex } from "./support.ts";

useIndex();

const MINUTE = 60_000;

it("the operator event events.silent is sent, at most once an hour, when no task has ended for SILENCE_MINUTES and the relay is not paused", async () => {
  const outside = receivers(200);
  await allowIndexAlert();
  const bindings = { ...OPERATOR_BINDINGS, SILENCE_MINUTES: "90" };
  await cron(bindings);
  await insert(aRow());
  await cron(bindings);
  pass(89 * MINUTE);
  await cron(bindings);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  pass(MINUTE);
  await cron({ ...bindings, PAUSED: "true" });
  await cron(OPERATOR_BINDINGS);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  const createdAt = START - 9 * 60 * MINUTE;
  await insert(aRow({ createdAt, finishedAt: null, settledAt: null, status: "pending" }));
  await cron(bindings);
  await cron(bindings);
  expect(await operatorEvents(outside)).toEqual([
    { type: "events.silent", timestamp: START_S + 5400, data: { since: START_S, minutes: 90 } },
  ]);
  pass(60 * MINUTE);
  await insert(aRow({ createdAt, finishedAt: Date.now() }));
  await cron(bindings);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(1);
});

/** Returns a second database of the index, which is empty. */
async function anotherDatabase(): Promise<IndexDatabase> {
  const { SHARD_1: shard } = env;
  if (shard === undefined) throw new Error("these tests need two databases");
  await ready(shard);
  await shard.batch(TABLES.map((table) => shard.prepare(`DELETE FROM ${table}`)));
  return shard;
}

it("on the Free plan with two index databases, the operator event events.silent is sent only when no task has ended in either of them", async () => {
  const outside = receivers(200);
  await allowIndexAlert();
  const shard = await anotherDatabase();
  const bindings = {
    ...OPERATOR_BINDINGS,
    OPERATOR_EVENTS: "events.silent",
    PLAN: "free",
    SILENCE_MINUTES: "90",
    INDEX_DB_1: shard,
    INDEX_SHARD_HOURS: "130",
  };
  await insert(aRow());
  pass(90 * MINUTE);
  await writeRows(shard, [aRow({ createdAt: START, finishedAt: START + 1 })], Date.now());
  await cron(bindings);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  pass(90 * MINUTE);
  await cron(bindings);
  expect(await operatorEvents(outside)).toMatchObject([
    { type: "events.silent", data: { since: START_S + 5400, minutes: 90 } },
  ]);
});

it("when a run of the cron may query only four of five index databases for the last end of a task, it logs that it skipped one, and sends no event events.silent", async () => {
  const lines = logLines();
  const outside = receivers(200);
  await allowIndexAlert();
  const shard = await anotherDatabase();
  const others = [1, 2, 3, 4].map((n) => [`INDEX_DB_${n}`, new Proxy(shard, BOUND)] as const);
  const bindings = {
    ...Object.fromEntries(others),
    ...OPERATOR_BINDINGS,
    OPERATOR_EVENTS: "events.silent",
    PLAN: "free",
    SILENCE_MINUTES: "90",
    INDEX_SHARD_HOURS: "60",
  };
  const present = Math.floor(START / (60 * HOUR)) % 5;
  const holder = present === 0 ? db : shard;
  await writeRows(holder, [aRow()], START);
  await cron(bindings);
  expect(lines("index.silence")).toMatchObject([{ minutes: 0 }]);
  pass(90 * MINUTE);
  await cron(bindings);
  expect(lines("index.silence")).toMatchObject([{ minutes: 0 }, { skipped: 1 }]);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

/** Writes 10,000 rows of open tasks that were created now. */
async function insertOpen(): Promise<void> {
  const row = {
    ...aRow({ status: "pending", finishedAt: null, settledAt: null }),
    expiresAt: null,
  };
  await insert(row);
  const { results } = await db.prepare("SELECT * FROM index_rows WHERE id = ?").bind(row.id).all();
  const names = Object.keys(results[0] ?? {}).filter((name) => name !== "id");
  await db
    .prepare(
      `INSERT INTO index_rows (id, ${names.join(", ")})
      WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < 9999)
      SELECT printf('%s-%d', id, n), ${names.join(", ")} FROM copies CROSS JOIN index_rows WHERE id = ?`,
    )
    .bind(row.id)
    .run();
}

it("with 10,000 new tasks between runs of the cron and SILENCE_MINUTES=10, events.silent is sent once no task has ended for 10 minutes, and not before", async () => {
  const lines = logLines();
  const outside = receivers(200);
  await allowIndexAlert();
  const runAfter10Minutes = async () => {
    pass(10 * MINUTE);
    await insertOpen();
    await cron({ ...OPERATOR_BINDINGS, SILENCE_MINUTES: "10" });
  };
  await insert(aRow());
  await cron({ ...OPERATOR_BINDINGS, SILENCE_MINUTES: "10" });
  await insert(aRow({ createdAt: START + 1, finishedAt: START + 9 * MINUTE }));
  await runAfter10Minutes();
  await runAfter10Minutes();
  expect(lines("index.silence")).toMatchObject([{ minutes: 0 }, { minutes: 0 }, { minutes: 0 }]);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  await runAfter10Minutes();
  expect(await operatorEvents(outside)).toMatchObject([
    { type: "events.silent", data: { since: START_S + 600, minutes: 10 } },
  ]);
});

it("to find when a task last ended, the cron reads at most 10,000 task rows of an index database, and none when its count has already found a recent end", async () => {
  logLines();
  await insert(aRow());
  await cron();
  pass(10 * MINUTE);
  await insertOpen();
  await insert(aRow({ createdAt: START + 1, finishedAt: Date.now() }));
  const { rows, INDEX_DB } = metered(db);
  const search = async (silenceMs: number) => {
    rows.read = 0;
    await lastEnd([INDEX_DB], Date.now(), silenceMs, new TimeBudget(HOUR));
    return rows.read;
  };
  expect(await search(11 * MINUTE)).toBeLessThanOrEqual(100);
  expect(await search(10 * MINUTE)).toBeGreaterThanOrEqual(10_000);
  expect(await search(10 * MINUTE)).toBeLessThanOrEqual(10_000 + 100);
});
