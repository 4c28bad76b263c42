import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { AccountObject } from "../../src/account/account-object.ts";
import { accountStub, aKey, anAccount, priced } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { rowsOf } from "./rows.ts";
import {
  aCompletion,
  aFailure,
  atRest,
  call,
  CALLBACK_URL,
  NOTHING,
  pass,
  post,
  stored,
  stubOf,
  useClock,
} from "./support.ts";

useClock();

const RETENTION_MS = 28 * 86_400_000;

/** What the object of an account writes, as the platform counts it: rows of tables and of indexes. */
async function accountRows(account: string): Promise<() => number> {
  return runInDurableObject(accountStub(account), (_, { storage }) => {
    const others = [
      vi.spyOn(storage.kv, "put"),
      vi.spyOn(storage.kv, "delete"),
      vi.spyOn(storage, "setAlarm"),
    ];
    const exec = vi.spyOn(storage.sql, "exec");
    return () => {
      const cursors = exec.mock.results.flatMap(({ type, value }) =>
        type === "return" ? [value] : [],
      );
      const inTables = cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
      return others.reduce((sum, spy) => sum + spy.mock.calls.length, inTables);
    };
  });
}

/** Counts the calls that reach objects of accounts from now on. */
function accountCalls(): () => number {
  const methods = [
    "create",
    "describe",
    "charge",
    "refund",
    "grant",
    "entries",
    "verifyKey",
  ] as const;
  const spies = methods.map((method) => vi.spyOn(AccountObject.prototype, method));
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}

async function liveAndExpire(body: { readonly id: string }, event: object): Promise<void> {
  expect((await post("/v1/tasks", body)).status).toBe(201);
  await post("/v1/events", event);
  await atRest(body.id);
  await call(`/v1/tasks/${body.id}`);
  pass(RETENTION_MS);
  await runDurableObjectAlarm(stubOf(body.id));
  expect(await stored(body.id)).toEqual(NOTHING);
}

describe("a task that is registered, calls back once, is read and expires", () => {
  it.each<[string, number, number, number, (id: string) => object]>([
    ["9 rows with credits, and at most 3 and one call in the ledger", 9, 3, 1, aCompletion],
    ["11 rows with a refund, and at most 6 and two calls in the ledger", 11, 6, 2, aFailure],
  ])("costs %s", async (_, ofTask, ofAccount, calls, event) => {
    aReceiver();
    const account = await anAccount(10);
    const body = priced(account, 4);
    const [rows, ledgerRows] = [await rowsOf(body.id), await accountRows(account)];
    const asked = accountCalls();
    await liveAndExpire(body, event(body.id));
    expect(rows()).toBe(ofTask);
    expect(asked()).toBe(calls);
    expect(ledgerRows()).toBeGreaterThan(0);
    expect(ledgerRows()).toBeLessThanOrEqual(ofAccount);
  });

  it("costs no call to the account after the first of a minute, where it has no price", async () => {
    aReceiver();
    const account = await anAccount();
    const asked = accountCalls();
    for (let count = 0; count < 3; count++) {
      const response = await post("/v1/tasks", { model: "m", account });
      expect(response.status).toBe(201);
    }
    expect(asked()).toBe(1);
  });

  it("costs the account nothing when it cannot pay, or asks again", async () => {
    const account = await anAccount(5);
    const body = priced(account, 5);
    await post("/v1/tasks", body);
    const rows = await accountRows(account);
    await post("/v1/tasks", body);
    await post("/v1/tasks", priced(account, 5));
    expect(rows()).toBe(0);
  });

  it("touches no account's object when it has no account", async () => {
    aReceiver();
    const before = (await listDurableObjectIds(env.ACCOUNTS)).length;
    const asked = accountCalls();
    for (const event of [aCompletion, aFailure]) {
      const id = crypto.randomUUID();
      const body = { id, model: "m", callback_url: CALLBACK_URL };
      await liveAndExpire(body, event(id));
    }
    expect(asked()).toBe(0);
    expect(await listDurableObjectIds(env.ACCOUNTS)).toHaveLength(before);
  });
});

describe("a key", () => {
  it("costs one call to its account in a minute, and one row a day", async () => {
    const account = await anAccount();
    const { key } = await aKey(account);
    const rows = await accountRows(account);
    const asked = accountCalls();
    const url = `/v1/tasks/${crypto.randomUUID()}`;
    for (let count = 0; count < 5; count++) {
      expect((await call(url, { key })).status).toBe(404);
    }
    expect([asked(), rows()]).toEqual([1, 1]);
    pass(60_000);
    await call(url, { key });
    expect([asked(), rows()]).toEqual([2, 1]);
  });
});
