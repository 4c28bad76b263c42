import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ready } from "../../src/index-db/database.ts";
import { aCharged, aKey, anAccount } from "../worker/accounts.ts";
import { attach, hooked } from "../worker/hooked.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { call, post } from "../worker/client.ts";
import { pass, START, START_S, useClock } from "../worker/clock.ts";
import { stored, untilIdle } from "../worker/objects.ts";
import { aFailure, completed, register } from "../worker/tasks.ts";
import { allRows, DAY, db, indexed, rowsOfTask, useEmptyIndex, wake } from "./support.ts";

useClock();

describe("the first use of a database", () => {
  it("gives it its tables, also by two isolates at once, and again without harm", async () => {
    // Each proxy is a database that nothing is remembered of, as in another isolate.
    const [one, other] = [new Proxy(db, BOUND), new Proxy(db, BOUND)];
    await Promise.all([ready(one), ready(other)]);
    await ready(new Proxy(db, BOUND));
    const { results } = await db.prepare("SELECT version FROM relay_schema").all();
    expect(results).toEqual([{ version: 1 }]);
    const names = await db.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'tasks%'").all();
    expect(new Set(names.results.map(({ name }) => name))).toEqual(
      new Set(["tasks", "tasks_due", "tasks_failed", "tasks_of_account"]),
    );
  });
});

const BOUND: ProxyHandler<D1Database> = {
  get: (target, name) => {
    const method: unknown = Reflect.get(target, name);
    return typeof method === "function"
      ? (...args: readonly unknown[]): unknown => Reflect.apply(method, target, args)
      : method;
  },
};

async function expectRow(id: string, row: object): Promise<void> {
  const { version, indexed_at, ...rest } = await indexed(id);
  expect({ ...rest, id }).toEqual({ ...row, id });
  expect((await stored(id)).record).toMatchObject({ version });
  expect(indexed_at).toBe(Date.now());
}

describe("the row of a task", () => {
  useEmptyIndex();

  const OPEN = {
    account: null,
    model: "seedance",
    provider: null,
    status: "pending",
    callback: "waiting",
    attempts: 0,
    last_outcome: null,
    last_status_code: null,
    host: "client.example.net",
    created_at: START,
    completed_at: null,
    finished_at: null,
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
    last_outcome: "delivered",
    last_status_code: 200,
    completed_at: START_S * 1000,
    finished_at: START,
    settled_at: START,
    first_attempt_ms: 0,
    settled_ms: 0,
    due_at: null,
    expires_at: START + 28 * DAY,
  };

  it("that is registered", async () => {
    await expectRow(await register(), OPEN);
  });

  it("that is registered without a callback, for an account, with a deadline", async () => {
    const account = await anAccount();
    const id = await register({ account, callback_url: null, deadline_at: START_S + 600 });
    const due_at = (START_S + 600) * 1000;
    await expectRow(id, { ...OPEN, account, callback: null, host: null, due_at });
  });

  it("that is processing", async () => {
    const id = await register();
    pass(100);
    await post("/v1/events", { id, status: "processing" });
    await expectRow(id, { ...OPEN, status: "processing" });
  });

  it("of an upstream job", async () => {
    aReceiver(status(503));
    const task = await hooked({
      provider: "ark",
      bindings: { ...env, ARK_API_KEY: "k".repeat(20) },
    });
    await attach(task, "cgt-1");
    const { provider, model, callback } = await indexed(task.id);
    expect({ provider, model, callback }).toEqual({
      provider: "ark",
      model: "m",
      callback: "waiting",
    });
  });

  it("that is delivered", async () => {
    aReceiver();
    await expectRow(await completed(), DONE);
  });

  it("that completed without a callback", async () => {
    const none = { callback: null, attempts: 0, last_outcome: null, last_status_code: null };
    const never = { host: null, first_attempt_ms: null };
    await expectRow(await completed({ callback_url: null }), { ...DONE, ...none, ...never });
  });

  it("that is sending", async () => {
    aReceiver(status(503));
    const sending = { callback: "sending", last_outcome: "rejected", last_status_code: 503 };
    const unsettled = { settled_at: null, settled_ms: null, expires_at: null };
    const due_at = START + 180_000;
    await expectRow(await completed(), { ...DONE, ...sending, ...unsettled, due_at });
  });

  it("whose callback failed", async () => {
    aReceiver(status(500));
    const id = await completed();
    while ((await stored(id)).alarm !== null && Date.now() < START + 780_000) await wake(id);
    await untilIdle(id);
    const failed = { callback: "failed", attempts: 3, last_outcome: "rejected" };
    const settled_at = START + 780_000;
    const row = { ...DONE, ...failed, last_status_code: 500, settled_at, settled_ms: 780_000 };
    await expectRow(id, { ...row, expires_at: settled_at + 28 * DAY });
  });

  it("that failed, and was paid back", async () => {
    aReceiver();
    const account = await anAccount(5);
    const id = await aCharged(account, 5);
    await post("/v1/events", aFailure(id));
    await untilIdle(id);
    await expectRow(id, { ...DONE, account, model: "m", status: "failed", completed_at: null });
  });

  it("that was redelivered keeps how long the automatic series took", async () => {
    aReceiver(status(200), status(200));
    const id = await completed();
    await indexed(id);
    pass(DAY);
    await call(`/v1/tasks/${id}/redeliver`, { method: "POST" });
    await untilIdle(id);
    const settled_at = START + DAY + 2;
    const row = await indexed(id);
    expect(row).toMatchObject({
      ...DONE,
      attempts: 2,
      settled_at: expect.any(Number),
      expires_at: expect.any(Number),
    });
    expect(Math.abs(Number(row["settled_at"]) - settled_at)).toBeLessThan(5);
  });

  it("vanishes when it is erased, and comes back as another task", async () => {
    aReceiver();
    const id = await completed();
    await indexed(id);
    expect((await call(`/v1/tasks/${id}`, { method: "DELETE" })).status).toBe(204);
    expect(await rowsOfTask(id)).toEqual([]);
    pass(1000);
    await post("/v1/tasks", { id, model: "other" });
    expect(await indexed(id)).toMatchObject({ model: "other", created_at: Date.now() - 30_000 });
  });

  it("does not exist while its price is not charged", async () => {
    const account = await anAccount(1);
    const body = { id: crypto.randomUUID(), model: "m", account, credits: 2 };
    expect((await post("/v1/tasks", body)).status).toBe(402);
    expect(await allRows()).toEqual([]);
  });

  it("is listed by its account as the object shows it", async () => {
    aReceiver();
    const account = await anAccount();
    const { key } = await aKey(account);
    const id = await completed({ account });
    await indexed(id);
    const { data } = await (await call("/v1/tasks", { key })).json<{ data: object[] }>();
    const task = await (await call(`/v1/tasks/${id}`, { key })).json<Record<string, unknown>>();
    expect(data).toMatchObject([
      {
        id: task["id"],
        status: task["status"],
        model: task["model"],
        created_at: task["created_at"],
        completed_at: task["completed_at"],
        account,
        callback: { status: "delivered", attempts: 1 },
      },
    ]);
  });
});
