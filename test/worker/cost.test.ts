import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { LISTENER, RELEASE } from "../../scripts/cost/lives.ts";
import { answerRequest } from "../../src/app.ts";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { ListenersObject } from "../../src/objects/listeners/listeners-object.ts";
import { claimObject } from "../../src/objects/object-names.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import {
  accountStub,
  aCharged,
  aKey,
  anAccount,
  anImportedKey,
  priced,
  profileStub,
} from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { aRequest, call, post } from "./client.ts";
import { DAY_MS, pass, until, useClock } from "./clock.ts";
import { NOTHING, rowsOf, stored, wake } from "./objects.ts";
import { aCompletion, aFailure, CALLBACK_URL, erase, finish, report } from "./tasks.ts";

useClock();

const MINUTE_MS = 60_000;

/** Counts the rows that an object of an account writes, as the platform does: tables, indexes, alarms. */
async function accountRows(stub: ReturnType<typeof accountStub>): Promise<() => number> {
  return runInDurableObject(stub, (_, { storage }) => {
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

/** Counts the calls that reach account objects from now on. */
function accountCalls(): () => number {
  const { prototype } = AccountObject;
  const spies = [
    vi.spyOn(prototype, "create"),
    vi.spyOn(prototype, "describe"),
    vi.spyOn(prototype, "charge"),
    vi.spyOn(prototype, "refund"),
    vi.spyOn(prototype, "release"),
    vi.spyOn(prototype, "grant"),
    vi.spyOn(prototype, "entries"),
    vi.spyOn(prototype, "adjust"),
    vi.spyOn(prototype, "profile"),
    vi.spyOn(prototype, "useListedKey"),
    vi.spyOn(prototype, "useKeyHash"),
  ];
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}

async function finishReadAndExpire(event: { readonly id: string }): Promise<void> {
  await finish(event);
  await call(`/v1/tasks/${event.id}`);
  await wake(event.id, 28 * DAY_MS);
  expect(await stored(event.id)).toEqual(NOTHING);
}

const created = { model: "m", callback_url: CALLBACK_URL };

describe("a task without an account that ends, calls back once, is read and expires", () => {
  it.each<[number, string, boolean, (id: string) => { readonly id: string }]>([
    [4, "is created by an event", false, (id) => aCompletion(id, created)],
    [6, "is registered and completes", true, aCompletion],
    [6, "is registered and fails", true, aFailure],
  ])(
    "a task without an account writes %i rows to its Durable Object from creation to expiry, and no account's Durable Object is called, when it %s",
    async (rows, _, isRegistered, event) => {
      aReceiver();
      // Makes the relay store the jurisdiction, as the first request of a deployment does.
      await call("/healthz");
      const accounts = (await listDurableObjectIds(env.ACCOUNTS)).length;
      const calls = accountCalls();
      const id = crypto.randomUUID();
      const written = await rowsOf(id);
      if (isRegistered) await post("/v1/tasks", { id, ...created });
      await finishReadAndExpire(event(id));
      expect(written()).toBe(rows);
      expect(calls()).toBe(0);
      expect(await listDurableObjectIds(env.ACCOUNTS)).toHaveLength(accounts);
    },
  );

  it("a refused, repeated or reading request about a task without an account writes no row to the task's Durable Object", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    const rows = await rowsOf(id);
    await call(`/v1/tasks/${id}`);
    await report(aCompletion(id));
    await erase(id);
    expect(rows()).toBe(0);
    await finish(aCompletion(id, created));
    expect(rows()).toBe(4);
    await report(aCompletion(id));
    await report(aCompletion(id, { output: { urls: ["https://a.example/"] } }));
    await call(`/v1/tasks/${id}`);
    expect(rows()).toBe(4);
  });
});

describe("a task with a price that ends, calls back once, is read and expires", () => {
  it.each([
    { name: "completes", event: aCompletion, rows: 8, maxLedgerRows: 3, times: "once", calls: 1 },
    { name: "fails", event: aFailure, rows: 9, maxLedgerRows: 6, times: "twice", calls: 2 },
    {
      name: "completes at a price by usage",
      event: (id: string) => aCompletion(id, { usage: { seconds: 1 } }),
      price: { hold: 4, min: 1, per: { usage: "seconds", units: 1, credits: 1 } },
      rows: 8 + RELEASE.rowsWritten - 3,
      maxLedgerRows: 3 + 3,
      times: "twice",
      calls: 1 + RELEASE.objectRequests,
    },
  ])(
    "a task with a price that $name writes $rows rows to its Durable Object; it calls its account's ledger $times, and the ledger writes at most $maxLedgerRows rows",
    async ({ event, price, rows, maxLedgerRows, calls }) => {
      aReceiver();
      const account = await anAccount(10);
      const { credits, ...task } = priced(account, 4);
      const body = { ...task, ...(price === undefined ? { credits } : { price }) };
      const [written, ledgerRows] = [
        await rowsOf(body.id),
        await accountRows(accountStub(account)),
      ];
      const made = accountCalls();
      expect((await post("/v1/tasks", body)).status).toBe(201);
      await finishReadAndExpire(event(body.id));
      expect([written(), made()]).toEqual([rows, calls]);
      expect(ledgerRows()).toBeGreaterThan(0);
      expect(ledgerRows()).toBeLessThanOrEqual(maxLedgerRows);
    },
  );
});

it("a client that listens for callbacks over a WebSocket causes as many requests as docs/cost.md states, and none by its pings", async () => {
  const { key } = await aKey(await anAccount());
  const { prototype } = ListenersObject;
  const connecting = [
    vi.spyOn(AccountObject.prototype, "profile"),
    vi.spyOn(AccountObject.prototype, "keys"),
    vi.spyOn(AccountObject.prototype, "useListedKey"),
    vi.spyOn(prototype, "fetch"),
  ];
  const sent = vi.spyOn(prototype, "sendToListeners");
  const messages = vi.spyOn(prototype, "webSocketMessage");
  // Nothing that the isolate remembers of the account is used.
  pass(2 * MINUTE_MS);
  const request = aRequest("/v1/listen", { key, headers: { Upgrade: "websocket" } });
  const { webSocket } = await answerRequest(request, env);
  if (webSocket === null) throw new Error("the answer has no WebSocket");
  const pongs: unknown[] = [];
  webSocket.addEventListener("message", ({ data }) => {
    if (data === "pong") return void pongs.push(data);
    const { id } = Message.parse(JSON.parse(String(data)));
    if (id !== undefined)
      webSocket.send(JSON.stringify({ id, status: 200, headers: {}, body: "" }));
  });
  webSocket.accept();
  webSocket.send("ping");
  await until(() => pongs.length === 1);
  const requests = connecting.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  expect({ workerRequests: 1, objectRequests: requests }).toEqual(LISTENER.connection);
  expect(messages).not.toHaveBeenCalled();
  await post("/v1/callbacks/test", { callback_url: "listen:" }, { key });
  webSocket.close();
  const calls = { objectRequests: sent.mock.calls.length, messages: messages.mock.calls.length };
  expect(calls).toEqual(LISTENER.callback);
});

const Message = z.looseObject({ id: z.string().optional() });

describe("the object of an account", () => {
  it("registrations of tasks without a price call their account's Durable Object once a minute in total, not once for each task", async () => {
    aReceiver();
    const account = await anAccount();
    const calls = accountCalls();
    for (let count = 0; count < 3; count++) {
      expect((await post("/v1/tasks", { model: "m", account })).status).toBe(201);
    }
    expect(calls()).toBe(1);
  });

  it("an account's Durable Object executes three SQL statements for each charge after the first", async () => {
    const account = await anAccount(9);
    await aCharged(account, 1);
    const exec = await runInDurableObject(accountStub(account), (_, { storage }) =>
      vi.spyOn(storage.sql, "exec"),
    );
    for (let count = 0; count < 2; count++) await aCharged(account, 1);
    expect(exec).toHaveBeenCalledTimes(2 * 3);
  });

  it("an account's ledger writes no row for a charge that it has already booked or that exceeds the balance", async () => {
    const account = await anAccount(5);
    const body = priced(account, 5);
    await post("/v1/tasks", body);
    const rows = await accountRows(accountStub(account));
    await post("/v1/tasks", body);
    await post("/v1/tasks", priced(account, 5));
    expect(rows()).toBe(0);
  });

  it.each([
    { made: "a generated", times: "once", making: aKey, calls: 1, rows: [0, 1, 0] },
    { made: "an imported", times: "twice", making: anImportedKey, calls: 2, rows: [0, 1, 1] },
  ])(
    "requests with $made API key do not call the account's ledger, and call its other Durable Objects $times in the first minute of a day and once in a later minute",
    async ({ making, calls: first, rows }) => {
      const account = await anAccount();
      const { key } = await making(account);
      const claims = claimObject(env, await sha256Hex(key));
      const objects = [accountStub(account), profileStub(account), claims];
      const counters = await Promise.all(objects.map(accountRows));
      const written = () => counters.map((count) => count());
      const calls = accountCalls();
      const url = `/v1/tasks/${crypto.randomUUID()}`;
      for (let count = 0; count < 5; count++) {
        expect((await call(url, { key })).status).toBe(404);
      }
      // The first use of a key on a day is stored in the list of the account.
      expect([calls(), written()]).toEqual([first, rows]);
      pass(60_000);
      await call(url, { key });
      expect([calls(), written()]).toEqual([first + 1, rows]);
    },
  );
});
