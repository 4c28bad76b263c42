import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ready } from "../../src/index-db/database.ts";
import { MIGRATIONS } from "../../src/index-db/migrations.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { anAccount } from "../worker/accounts.ts";
import { post } from "../worker/client.ts";
import { START, START_S } from "../worker/clock.ts";
import { attach, hooked } from "../worker/hooked.ts";
import { untilIdle, stored } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { completed, register } from "../worker/tasks.ts";
import { BOUND, gated } from "./bindings.ts";
import { allRows, aRow, DAY, db, indexed, useIndex, wake } from "./support.ts";

useIndex();

it("the tables of the index are created once, even when two isolates create them at the same time", async () => {
  await dropSchema();
  // The proxy hides the database from the isolate's memory, so that the isolate treats it as an unknown one.
  const [one, other] = [new Proxy(db, BOUND), new Proxy(db, BOUND)];
  await Promise.all([ready(one), ready(other)]);
  await ready(new Proxy(db, BOUND));
  const { results } = await db.prepare("SELECT version FROM relay_schema").all();
  expect(results).toEqual(MIGRATIONS.map((_, index) => ({ version: index + 1 })));
  const names = await db.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'tasks%'").all();
  const indexes = ["due", "failed", "of_account", "outputs_lost", "submit_unknown"];
  expect(new Set(names.results.map(({ name }) => name))).toEqual(
    new Set(["tasks", ...indexes.map((name) => `tasks_${name}`)]),
  );
});

it("the first index write of an isolate is a single SQL statement; only when that finds no tables are the tables created", async () => {
  const statements: string[] = [];
  const counting = () => gated(db, async (sql) => statements.push(sql));
  await writeRows(counting(), [aRow()], START);
  expect(statements).toEqual([expect.stringContaining("INSERT INTO tasks")]);
  await dropSchema();
  const row = aRow();
  const isolate = counting();
  await writeRows(isolate, [row], START);
  expect(await allRows()).toMatchObject([{ id: row.id }]);
  statements.length = 0;
  await db.prepare("DROP TABLE erased").run();
  await expect(writeRows(isolate, [row], START)).rejects.toThrow("no such table");
  expect(statements).toHaveLength(1);
  await dropSchema();
  await writeRows(counting(), [row], START);
});

/** Drops the tables of the index, so that the next isolate creates them again. */
async function dropSchema(): Promise<void> {
  const tables = ["tasks", "dirty_hours", "rollups", "rollups_parts", "relay_schema"];
  await db.batch(tables.map((name) => db.prepare(`DROP TABLE ${name}`)));
}

async function expectRow(id: string, row: object): Promise<void> {
  const { version, indexed_at, ...rest } = await indexed(id);
  expect({ ...rest, id }).toEqual({ ...row, id });
  expect((await stored(id)).record).toMatchObject({ version });
  expect(indexed_at).toBe(Date.now());
}

describe("the row of a task", () => {
  const OPEN = {
    account: null,
    model: "seedance",
    provider: null,
    job: null,
    status: "pending",
    category: null,
    submission: null,
    kept_outputs: 0,
    kept_bytes: 0,
    lost_outputs: 0,
    callback: "waiting",
    attempts: 0,
    outcomes: "{}",
    last_outcome: null,
    last_status_code: null,
    host: "client.example.net",
    created_at: START,
    completed_at: null,
    finished_at: null,
    found_by: null,
    found_late_ms: null,
    refunded: 0,
    credits_held: 0,
    credits_earned: 0,
    credits_released: 0,
    credits_refunded: 0,
    settled_at: null,
    first_attempt_ms: null,
    settled_ms: null,
    due_at: START + 3 * DAY,
    expires_at: null,
  };
  const DONE = {
    ...OPEN,
    status: "completed",
    callback: "delivered",
    attempts: 1,
    outcomes: '{"delivered":1}',
    last_outcome: "delivered",
    last_status_code: 200,
    completed_at: START_S * 1000,
    finished_at: START,
    found_by: "report",
    settled_at: START,
    first_attempt_ms: 0,
    settled_ms: 0,
    due_at: null,
    expires_at: START + 28 * DAY,
  };

  it("the index row of a new task has its model, status, callback host and times, and null in the columns of what has not happened yet", async () => {
    await expectRow(await register(), OPEN);
  });

  it("the index row of a task without a callback_url has the task's account and deadline, and null as callback and as host", async () => {
    const account = await anAccount();
    const id = await register({ account, callback_url: null, deadline_at: START_S + 600 });
    const due_at = (START_S + 600) * 1000;
    await expectRow(id, { ...OPEN, account, callback: null, host: null, due_at });
  });

  it("the index row of a task to which a provider's job was attached names the provider and the job", async () => {
    aReceiver(status(503));
    const task = await hooked({
      provider: "ark",
      bindings: { ...env, ARK_API_KEY: "k".repeat(20) },
    });
    await attach(task, "cgt-1");
    expect(await indexed(task.id)).toMatchObject({
      provider: "ark",
      job: "cgt-1",
      model: "m",
      callback: "waiting",
    });
  });

  it("the index row of a task whose callback failed has the outcome and the times of the callback", async () => {
    aReceiver(status(500));
    const id = await completed();
    while ((await stored(id)).alarm !== null && Date.now() < START + 780_000) await wake(id);
    await untilIdle(id);
    const outcomes = '{"rejected":3}';
    const failed = { callback: "failed", attempts: 3, outcomes, last_outcome: "rejected" };
    const settled_at = START + 780_000;
    const row = { ...DONE, ...failed, last_status_code: 500, settled_at, settled_ms: 780_000 };
    await expectRow(id, { ...row, expires_at: settled_at + 28 * DAY });
  });

  it("a task that was refused for lack of credits has no index row", async () => {
    const account = await anAccount(1);
    const body = { id: crypto.randomUUID(), model: "m", account, credits: 2 };
    expect((await post("/v1/tasks", body)).status).toBe(402);
    expect(await allRows()).toEqual([]);
  });
});
