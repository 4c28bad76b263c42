import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import {
  accountStub,
  aKey,
  anAccount,
  balanceOf,
  grant,
  profileStub,
  tablesOf,
} from "./accounts.ts";
import { call, callWith, invalid, OPERATOR_NAME, post, refusal } from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { report } from "./tasks.ts";

useClock();

/** What an account shows besides its id and balance while nothing is set and nothing charged. */
const UNSET = {
  tags: [],
  low_balance: null,
  monthly_limit: null,
  spent_this_month: 0,
  created_at: START_S,
};
const UNKNOWN = { status: 404, code: "not_found" };
const lost = () => Promise.reject(new Error("Network connection lost."));
const EMPTY_OBJECT = { keys: [], tables: [], alarm: null };
const EMPTY = { ledger: EMPTY_OBJECT, profile: EMPTY_OBJECT };

function stateOf(stub: ReturnType<typeof accountStub>) {
  return runInDurableObject(stub, async (_, { storage }) => ({
    keys: Array.from(storage.kv.list(), ([key]) => key),
    tables: tablesOf(storage.sql),
    alarm: await storage.getAlarm(),
  }));
}

/** Reads what the two objects of an account store: keys, tables and alarms. */
async function storageOf(account: string) {
  return {
    ledger: await stateOf(accountStub(account)),
    profile: await stateOf(profileStub(account)),
  };
}

it("POST /v1/accounts creates an account without credits and sets the alarm of its Durable Object 28 days ahead", async () => {
  const id = crypto.randomUUID();
  const response = await post("/v1/accounts", { id });
  expect(response.status).toBe(201);
  expect(await response.json()).toEqual({ id, balance: 0, ...UNSET });
  const { ledger, profile } = await storageOf(id);
  expect([ledger.alarm, profile.alarm]).toEqual([START + 28 * DAY_MS, null]);
});

it("POST /v1/accounts answers 200 when the account exists already, and changes nothing", async () => {
  const id = await anAccount(7);
  const before = await storageOf(id);
  pass(5000);
  const response = await post("/v1/accounts", { id });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ id, balance: 7, ...UNSET });
  expect(await storageOf(id)).toEqual(before);
});

it("the log names the API key that created an account exactly once, even when the request failed half-way and was repeated", async () => {
  const id = crypto.randomUUID();
  vi.spyOn(AccountObject.prototype, "createProfile").mockImplementationOnce(() => {
    throw new Error("planted failure");
  });
  const written = vi.spyOn(console, "log");
  for (const status of [500, 200]) {
    expect((await post("/v1/accounts", { id })).status).toBe(status);
  }
  const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)));
  const line = { event: "account.create", account: id, by: OPERATOR_NAME };
  expect(lines.filter(({ event }) => event === line.event)).toMatchObject([line]);
});

it("of two simultaneous requests to POST /v1/accounts with the same id, only one creates the account", async () => {
  const id = crypto.randomUUID();
  const answers = await Promise.all([1, 2].map(() => post("/v1/accounts", { id })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
});

it.each(["A-z_0", "-", "__proto__", "constructor", "x".repeat(64)])(
  "POST /v1/accounts accepts the account id %j",
  async (id) => {
    expect((await post("/v1/accounts", { id })).status).toBe(201);
    expect(await (await call(`/v1/accounts/${id}`)).json()).toMatchObject({ id, balance: 0 });
  },
);

// The fuzz test of bodies compares every field with the contract; here are examples.
it.each<[string, unknown, string]>([
  [
    "an account id with a colon, which is reserved for the names of internal objects",
    { id: "key:0" },
    "/id",
  ],
  ["an unknown field", { id: "fields", balance: 7 }, "/balance"],
  ["a list as a body", ["a"], ""],
])("POST /v1/accounts rejects %s", async (_, body, path) => {
  expect(await refusal(await post("/v1/accounts", body))).toEqual(invalid(path));
});

it("GET /v1/accounts/{account} shows the current balance", async () => {
  const id = await anAccount(5);
  await grant(id, 3);
  const account = await (await call(`/v1/accounts/${id}`)).json();
  expect(account).toEqual({ id, balance: 8, ...UNSET });
});

it("GET /v1/accounts answers 501 index_disabled when the D1 database INDEX_DB is not bound", async () => {
  expect(await refusal(await call("/v1/accounts"))).toEqual({
    status: 501,
    code: "index_disabled",
  });
});

it.each<[what: string, path: string, body?: object]>([
  ["GET /v1/accounts/{account}", ""],
  ["GET /v1/accounts/{account}/grants", "/grants"],
  ["GET /v1/accounts/{account}/entries", "/entries"],
  ["GET /v1/accounts/{account}/keys", "/keys"],
  ["GET /v1/accounts/{account}/signing-secrets", "/signing-secrets"],
  ["POST /v1/accounts/{account}/grants", "/grants", { reference: "r", amount: 1 }],
  [
    "POST /v1/accounts/{account}/adjustments",
    "/adjustments",
    { reference: "r", amount: 1, reason: "x" },
  ],
  ["POST /v1/accounts/{account}/keys", "/keys", {}],
  ["POST /v1/accounts/{account}/keys with a hash", "/keys", { sha256: "a".repeat(64) }],
  ["POST /v1/accounts/{account}/signing-secrets", "/signing-secrets", {}],
])(
  "%s answers 404 for an account that does not exist and 400 to a malformed id",
  async (what, path, body) => {
    const method = what.startsWith("GET") ? "GET" : "POST";
    const unknown = crypto.randomUUID();
    const bodies = new Set<string>();
    for (const id of [unknown, crypto.randomUUID()]) {
      const response = await call(`/v1/accounts/${id}${path}`, { method, body });
      expect(response.status).toBe(404);
      bodies.add(await response.text());
    }
    expect(bodies.size).toBe(1);
    for (const id of ["x".repeat(65), "a.b", "%C3%A9", "key:0", "a%2Fb"]) {
      const response = await call(`/v1/accounts/${id}${path}`, { method, body });
      expect(await refusal(response)).toMatchObject({ status: 400, paths: ["/account"] });
    }
    expect(await storageOf(unknown)).toEqual(EMPTY);
  },
);

it("a registration or event that names an account that does not exist is refused, and creates neither a task nor an account", async () => {
  const account = crypto.randomUUID();
  const id = crypto.randomUUID();
  const event = { id, status: "processing", model: "m", account };
  for (const response of [
    await post("/v1/tasks", { id, model: "m", account }),
    await post("/v1/tasks", { id, model: "m", account, credits: 1 }),
    await report(event),
  ]) {
    expect(await refusal(response)).toEqual(UNKNOWN);
  }
  expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
  expect(await storageOf(account)).toEqual(EMPTY);
  // The answer that an account does not exist is not cached.
  await post("/v1/accounts", { id: account });
  expect((await report(event)).status).toBe(202);
});

it("when an account's Durable Object cannot be reached, every route that needs it answers 503 unavailable with Retry-After", async () => {
  const account = await anAccount(5);
  const { key } = await aKey(account);
  const stub = new Proxy({}, { get: () => lost });
  const bindings = { ...env, ACCOUNTS: { getByName: () => stub } };
  const path = `/v1/accounts/${account}`;
  for (const [url, message] of [
    [path, {}],
    [path, { key }],
    ["/v1/accounts", { body: { id: account } }],
    [`${path}/grants`, { body: { reference: "r", amount: 1 } }],
    [`${path}/entries`, {}],
    [`${path}/keys`, { body: {} }],
    [`${path}/keys/1`, { method: "DELETE" }],
    [`${path}/signing-secrets`, {}],
    [`${path}/signing-secrets`, { method: "POST" }],
    ["/v1/tasks", { body: { model: "m", account } }],
  ] as const) {
    const response = await callWith(bindings, url, message);
    expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
    expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  }
  expect(await balanceOf(account)).toBe(5);
});
