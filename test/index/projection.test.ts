import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EarlierBuildError, onSchema, ready } from "../../src/index-db/database.ts";
import { FIRST_VERSION, SCHEMA } from "../../src/index-db/schema.ts";
import { overdueTasks } from "../../src/index-db/overdue-tasks.ts";
import { removeExpired } from "../../src/index-db/sweep.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import type { IndexDatabase } from "../../src/index-db/index-database.ts";
import { anAccount } from "../worker/accounts.ts";
import { post } from "../worker/client.ts";
import { START, START_S } from "../worker/clock.ts";
import { attach, hooked } from "../worker/hooked.ts";
import { untilIdle, stored } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { completed, register } from "../worker/tasks.ts";
import { BOUND, gated } from "./bindings.ts";
import {
  allRows,
  aRow,
  callWith,
  cron,
  DAY,
  db,
  indexed,
  insert,
  TABLES,
  useIndex,
  wake,
} from "./support.ts";

useIndex();

/** Returns the database as an isolate sees it that knows nothing of it yet. */
const unknown = (database = db) => new Proxy(database, BOUND);

/** A step of a later release, which adds a column and a table. */
const LATER = [
  ...SCHEMA,
  [
    "ALTER TABLE index_rows ADD COLUMN later INTEGER NOT NULL DEFAULT 7",
    "CREATE TABLE later (id TEXT) STRICT",
  ],
];
const readLater = (database: IndexDatabase) =>
  database.prepare("SELECT id, later FROM index_rows").all();

/** Drops all tables, so that the next isolate creates them. */
async function dropSchema(): Promise<void> {
  const tables = [...TABLES, "later", "tasks", "relay_schema"];
  await db.batch(tables.map((name) => db.prepare(`DROP TABLE IF EXISTS ${name}`)));
}

async function appliedSteps(): Promise<readonly unknown[]> {
  const { results } = await db.prepare("SELECT version FROM relay_schema ORDER BY 1").all();
  return results.map(({ version }) => version);
}

describe("the schema of the index in D1", () => {
  beforeEach(dropSchema);
  afterEach(async () => {
    await dropSchema();
    await ready(unknown());
  });

  it("the schema of the index in D1 is created once, even when two isolates create it at the same time", async () => {
    await Promise.all([ready(unknown()), ready(unknown())]);
    await ready(unknown());
    expect(await appliedSteps()).toEqual(SCHEMA.map((_, index) => FIRST_VERSION + index));
    const { results } = await db
      .prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'",
      )
      .all();
    const names = results
      .map(({ name }) => String(name))
      .filter((name) => !/^(sqlite|d1)_/.test(name));
    expect(names.toSorted()).toEqual([...TABLES, "relay_schema"].toSorted());
  });

  it("an isolate looks at the index schema in D1 only when a statement finds no table, so that its first write to a complete database is one statement", async () => {
    const statements: string[] = [];
    const counting = () => gated(db, async (sql) => statements.push(sql));
    const row = aRow();
    const isolate = counting();
    await writeRows(isolate, [row], START);
    expect(await allRows()).toMatchObject([{ id: row.id }]);
    statements.length = 0;
    await writeRows(counting(), [aRow()], START);
    expect(statements).toEqual([expect.stringContaining("INSERT INTO index_rows")]);
    statements.length = 0;
    await db.prepare("DROP TABLE erased").run();
    await expect(writeRows(isolate, [row], START)).rejects.toThrow("no such table");
    expect(statements).toHaveLength(1);
  });

  it("the first statement that needs a later release's additions to the index schema makes them, even when two isolates do so at once, and rows keep their values", async () => {
    const row = aRow();
    await writeRows(unknown(), [row], START);
    const isolates = [unknown(), unknown()];
    const read = await Promise.all(isolates.map((isolate) => onSchema(isolate, readLater, LATER)));
    for (const { results } of read) expect(results).toEqual([{ id: row.id, later: 7 }]);
    expect(await appliedSteps()).toEqual(LATER.map((_, index) => FIRST_VERSION + index));
  });

  it("this release can use an index whose schema a later release has extended, and leaves the schema extended", async () => {
    await ready(unknown(), LATER);
    const row = aRow();
    await writeRows(unknown(), [row], START);
    await ready(unknown());
    expect((await onSchema(unknown(), readLater, LATER)).results).toEqual([
      { id: row.id, later: 7 },
    ]);
  });

  it("when the index database is too full for a column that a release adds, expired index rows are still removed and overdue tasks still found", async () => {
    await ready(unknown());
    await insert(aRow({ createdAt: START - DAY, settledAt: START - DAY, expiresAt: START + 1 }));
    await insert(aRow({ createdAt: START - DAY, dueAt: START }));
    const full = gated(db, async (sql) => {
      if (/ADD COLUMN/.test(sql))
        throw new Error("D1_ERROR: database or disk is full: SQLITE_FULL");
    });
    await expect(onSchema(full, readLater, LATER)).rejects.toThrow("is full");
    const retention = { retentionMs: 28 * DAY, indexRetentionMs: DAY / 2 };
    expect(await removeExpired(full, retention, START + 2, new TimeBudget(DAY, 40))).toBe(1);
    expect(await overdueTasks(full, START + 2, 10)).toHaveLength(1);
    expect((await onSchema(unknown(), readLater, LATER)).results).toHaveLength(1);
  });
});

/** Some tables of an earlier build, whose names the schema has too, and the newest of its steps. */
const EARLIER = [
  "CREATE TABLE tasks (created_at INTEGER, id TEXT)",
  "CREATE TABLE erased (created_at INTEGER, id TEXT, version INTEGER)",
  "INSERT INTO erased VALUES (0, 'old', 0)",
  "CREATE TABLE expiry_checks (check_at INTEGER, batch TEXT, ids TEXT)",
  "INSERT INTO expiry_checks VALUES (0, 'old', '')",
  "CREATE TABLE totals (name TEXT, value INTEGER, advanced_at INTEGER)",
  "CREATE TABLE relay_schema (version INTEGER NOT NULL PRIMARY KEY, applied_at INTEGER NOT NULL)",
  `INSERT INTO relay_schema VALUES (1, 0), (${FIRST_VERSION - 1}, 0)`,
];

/** Returns all that such a database has. */
async function content(): Promise<readonly unknown[]> {
  const names = ["sqlite_master", "tasks", "erased", "expiry_checks", "totals", "relay_schema"];
  const answers = await db.batch(names.map((name) => db.prepare(`SELECT * FROM ${name}`)));
  return answers.map(({ results }) => results);
}

describe("a database in which an earlier build has stored the index", () => {
  beforeEach(async () => {
    await dropSchema();
    await db.batch(EARLIER.map((sql) => db.prepare(sql)));
  });
  afterEach(async () => {
    await dropSchema();
    await ready(unknown());
  });

  it.each([
    "/v1/tasks",
    "/v1/stats",
    "/v1/stats/series",
    "/v1/hosts",
    "/v1/problems",
    "/v1/accounts",
    "/metrics",
  ])(
    "GET %s answers 503 stored_by_earlier_build, and says what to do, when the index was stored by a build that is too old to be read",
    async (path) => {
      const response = await callWith({ INDEX_DB: unknown() }, path);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({
        code: "stored_by_earlier_build",
        detail: expect.stringContaining("under a fresh name"),
      });
    },
  );

  it("an index stored by a build that is too old to be read is changed neither by the write of a task's row nor by the cron", async () => {
    const before = await content();
    await expect(writeRows(unknown(), [aRow()], START)).rejects.toThrow(EarlierBuildError);
    await cron({ INDEX_DB: unknown() });
    expect(await content()).toEqual(before);
  });
});

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
    refusal: null,
    kept_outputs: 0,
    kept_bytes: 0,
    lost_outputs: 0,
    copying_outputs: 0,
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

  it("the index row of a new task has the task's model, status, callback host and times, and null for all that has not happened yet", async () => {
    await expectRow(await register(), OPEN);
  });

  it("the index row of an account's task without a callback_url has the account and the deadline, and null as callback and as host", async () => {
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
