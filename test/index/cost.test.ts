import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, it } from "vitest";
import { anAccount } from "../worker/accounts.ts";
import { call, post } from "../worker/client.ts";
import { removeExpired } from "../../src/index-db/sweep.ts";
import { TimeBudget } from "../../src/time-budget.ts";
import { pass } from "../worker/clock.ts";
import { rowsOf, NOTHING, stored, stubOf, untilIdle } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { gated, metered, restartWith } from "./bindings.ts";
import { DAY, db, indexed, useIndex, wake, finish } from "./support.ts";

useIndex();

/** Returns the id of a new task whose rows are counted; the tables exist before, as their cost is not its own. */
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
async function removeRow(INDEX_DB: D1Database): Promise<void> {
  pass(28 * DAY);
  const retention = { retentionMs: 28 * DAY, indexRetentionMs: 28 * DAY };
  expect(await removeExpired(INDEX_DB, retention, Date.now(), new TimeBudget(DAY))).toBe(1);
}

it.each([
  ["4 rows for a task without an account", null, 4],
  ["6 rows for a task with an account", "a", 6],
])(
  "D1 bills at most %s whose index row is written twice and removed, not counting the entry in the list of erased tasks",
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

it("D1 bills 3 rows for a task whose callback fails and whose index row is written once and removed", async () => {
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

it("D1 bills no row for an index write that changes nothing", async () => {
  const { id, rows } = await meteredTask();
  await post("/v1/tasks", { id, model: "m" });
  await wake(id);
  rows.written = 0;
  await call("/v1/reindex", { body: { ids: [id] } });
  await indexed(id);
  expect(rows.written).toBe(0);
});

/** Returns how many rows the object of a task writes that ends at once and whose callback fails. */
async function rowsWith(INDEX_DB: D1Database | undefined): Promise<number> {
  const id = crypto.randomUUID();
  await restartWith(id, { INDEX_DB });
  const rows = await rowsOf(id);
  await finish(id, { model: "m", callback_url: CALLBACK_URL });
  while ((await stored(id)).alarm !== null) {
    await wake(id);
    await untilIdle(id);
  }
  expect(await stored(id)).toEqual(NOTHING);
  return rows();
}

it("the Durable Object of a task writes 14 rows more with an index that is unreachable for 28 days than without an index", async () => {
  aReceiver(status(500));
  const away = gated(db, () => Promise.reject(new Error("D1 is full")));
  const without = await rowsWith(undefined);
  expect((await rowsWith(away)) - without).toBe(14);
});
