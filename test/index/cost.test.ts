import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { anAccount } from "../worker/accounts.ts";
import { call, post } from "../worker/client.ts";
import { removeExpired } from "../../src/index-db/sweep.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import type { IndexDatabase } from "../../src/index-db/index-database.ts";
import { pass, START, until } from "../worker/clock.ts";
import { rowsOf, NOTHING, stored, stubOf, untilIdle } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { gated, metered, restartWith } from "./bindings.ts";
import {
  aRow,
  cron,
  DAY,
  db,
  finish,
  HOUR,
  indexed,
  insert,
  isWritten,
  rowsOfTask,
  useIndex,
  wake,
} from "./support.ts";

useIndex();

/**
 * Returns the id of a new task whose rows are counted. The tables of the index exist before, so that their
 * creation is not counted.
 */
async function meteredTask() {
  const meter = metered(db);
  const [warm, id] = [crypto.randomUUID(), crypto.randomUUID()];
  await restartWith(warm, meter);
  await post("/v1/tasks", { id: warm, model: "m" });
  await wake(warm);
  meter.rows.written = 0;
  await restartWith(id, meter);
  return { id, ...meter };
}

/** Row that each run writes with the ids of all tasks whose rows it removes, thousands at a time. */
const LIST_OF_REMOVED = 1;

/** Lets the row of the only settled task expire, and removes it. */
async function removeRow(INDEX_DB: IndexDatabase): Promise<void> {
  pass(28 * DAY);
  const retention = { retentionMs: 28 * DAY, indexRetentionMs: 28 * DAY };
  expect(await removeExpired(INDEX_DB, retention, Date.now(), new TimeBudget(DAY))).toBe(1);
}

it.each([
  ["4 written rows for a task without an account", null, 4],
  ["6 written rows for a task with an account", "a", 6],
])(
  "D1 bills at most %s whose index row is written twice and removed, plus one for each run of the cron that removes rows",
  async (_, name, most) => {
    aReceiver();
    const account = name === null ? null : await anAccount();
    const { id, rows, INDEX_DB } = await meteredTask();
    await post("/v1/tasks", { id, model: "m", callback_url: CALLBACK_URL, account });
    await wake(id);
    pass(60_000);
    await finish(id);
    await indexed(id);
    expect(rows.written).toBeGreaterThan(0);
    await removeRow(INDEX_DB);
    expect(rows.written).toBeLessThanOrEqual(most + LIST_OF_REMOVED);
  },
);

it("D1 bills at most 3 written rows for a task whose callback fails and whose index row is written once and removed, plus one for each run of the cron that removes rows", async () => {
  aReceiver(status(500));
  const { id, rows, INDEX_DB } = await meteredTask();
  await finish(id, { model: "m", callback_url: CALLBACK_URL });
  for (const wait of [180_000, 600_000]) {
    pass(wait);
    await runDurableObjectAlarm(stubOf(id));
  }
  await indexed(id);
  await removeRow(INDEX_DB);
  expect(rows.written).toBeGreaterThan(0);
  expect(rows.written).toBeLessThanOrEqual(3 + LIST_OF_REMOVED);
});

it("D1 bills no written row for an index write that changes nothing", async () => {
  const { id, rows } = await meteredTask();
  await post("/v1/tasks", { id, model: "m" });
  await wake(id);
  rows.written = 0;
  await call("/v1/reindex", { body: { ids: [id] } });
  await indexed(id);
  expect(rows.written).toBe(0);
});

/**
 * Returns how many rows and warnings the object of a task writes that ends at once and whose callback fails.
 * The index has an old row of the task, and the cron runs after each alarm.
 */
async function costWith(INDEX_DB: IndexDatabase | undefined) {
  const id = crypto.randomUUID();
  await insert(aRow({ id, dueAt: START - HOUR, version: 1, expiresAt: null }));
  await restartWith(id, { INDEX_DB });
  const rows = await rowsOf(id);
  const warn = vi.spyOn(console, "warn");
  await finish(id, { model: "m", callback_url: CALLBACK_URL });
  while ((await stored(id)).alarm !== null) {
    await wake(id);
    await untilIdle(id);
    const before = await stored(id);
    await cron({ INDEX_DB });
    await untilIdle(id);
    expect((await stored(id)).alarm).toBe(before.alarm);
  }
  expect(await stored(id)).toEqual(NOTHING);
  const lines = warn.mock.calls.filter(([line]) => String(line).includes(`"task_id":"${id}"`));
  warn.mockRestore();
  return { rows: rows(), lines: lines.length };
}

it("a task whose index writes all fail for 28 days writes 15 rows more in its Durable Object than without an index, and logs one line more for each failed write", async () => {
  aReceiver(status(500));
  let writes = 0;
  const away = gated(db, async (sql) => {
    if (!/INSERT|UPDATE|DELETE/.test(sql)) return;
    if (sql.includes("INTO index_rows")) writes += 1;
    throw new Error("D1 is full");
  });
  const without = await costWith(undefined);
  const cost = await costWith(away);
  expect(cost).toEqual({ rows: without.rows + 15, lines: without.lines + writes });
});

it("an index row that is out of date because the index failed when its task ended is updated by the next run of the cron once the index works again", async () => {
  aReceiver();
  const id = crypto.randomUUID();
  await insert(aRow({ id, createdAt: START, dueAt: START - HOUR, version: 1, expiresAt: null }));
  await restartWith(id, { INDEX_DB: gated(db, () => Promise.reject(new Error("D1 is full"))) });
  await finish(id, { model: "m", callback_url: CALLBACK_URL });
  for (let tries = 0; tries < 8; tries++) await wake(id);
  await restartWith(id, { INDEX_DB: db });
  pass(60_000);
  await cron();
  await until(() => isWritten(id));
  expect(await rowsOfTask(id)).toMatchObject([{ callback: "delivered", due_at: null }]);
});
