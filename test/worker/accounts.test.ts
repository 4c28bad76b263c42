import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { accountStub, aKey, anAccount, balanceOf, grant } from "./accounts.ts";
import { aRequest, call, pass, post, refusal, START, START_S, useClock } from "./support.ts";

useClock();

const UNKNOWN = { status: 404, code: "not_found" };
const DAY = 86_400_000;

const lost = () => Promise.reject(new Error("Network connection lost."));

/** What an object of the namespace keeps: its keys, its tables, its alarm. */
function storageOf(account: string) {
  return runInDurableObject(accountStub(account), async (_, { storage }) => ({
    keys: Array.from(storage.kv.list(), ([key]) => key),
    tables: storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'",
      )
      .toArray()
      .map(({ name }) => name),
    alarm: await storage.getAlarm(),
  }));
}

describe("POST /v1/accounts", () => {
  it("creates an account with no credits, and looks at it again in 28 days", async () => {
    const id = crypto.randomUUID();
    const response = await post("/v1/accounts", { id });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ id, balance: 0, created_at: START_S });
    expect((await storageOf(id)).alarm).toBe(START + 28 * DAY);
  });

  it("answers 200 to the same again, and changes nothing", async () => {
    const id = await anAccount(7);
    const before = await storageOf(id);
    pass(5000);
    const response = await post("/v1/accounts", { id });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ id, balance: 7, created_at: START_S });
    expect(await storageOf(id)).toEqual(before);
  });

  it("creates one account for two who ask at once", async () => {
    const id = crypto.randomUUID();
    const answers = await Promise.all([1, 2].map(() => post("/v1/accounts", { id })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
  });

  it.each(["a", "A-z_0", "_", "-", "__proto__", "constructor", "8f14e45f-ceea", "x".repeat(64)])(
    "takes %s as an id",
    async (id) => {
      expect((await post("/v1/accounts", { id })).status).toBe(201);
      expect(await (await call(`/v1/accounts/${id}`)).json()).toMatchObject({ id, balance: 0 });
    },
  );

  it("tells ids apart by case", async () => {
    const id = await anAccount(5);
    expect(await refusal(await call(`/v1/accounts/${id.toUpperCase()}`))).toEqual(UNKNOWN);
  });

  it.each<[string, unknown, string]>([
    ["no id", {}, "/id"],
    ["null", { id: null }, "/id"],
    ["an empty id", { id: "" }, "/id"],
    ["65 characters", { id: "x".repeat(65) }, "/id"],
    ["a slash", { id: "a/b" }, "/id"],
    ["a colon, as objects of keys have it", { id: "key:0" }, "/id"],
    ["a dot", { id: "." }, "/id"],
    ["a space", { id: "a b" }, "/id"],
    ["a line end", { id: "a\n" }, "/id"],
    ["a letter with an accent", { id: "é" }, "/id"],
    ["a number", { id: 7 }, "/id"],
    ["an unknown field", { id: "fields", balance: 7 }, "/balance"],
    ["a list", ["a"], ""],
  ])("refuses %s", async (_, body, path) => {
    const paths = [path];
    expect(await refusal(await post("/v1/accounts", body))).toEqual({
      status: 400,
      code: "invalid_request",
      paths,
    });
  });
});

describe("GET /v1/accounts/{account}", () => {
  it("shows the balance as it is now", async () => {
    const id = await anAccount(5);
    await grant(id, 3);
    expect(await (await call(`/v1/accounts/${id}`)).json()).toEqual({
      id,
      balance: 8,
      created_at: START_S,
    });
  });
});

describe("an account that does not exist", () => {
  const ROUTES: readonly (readonly [string, string, unknown])[] = [
    ["GET", "", undefined],
    ["GET", "/grants", undefined],
    ["GET", "/entries", undefined],
    ["GET", "/keys", undefined],
    ["GET", "/signing-secrets", undefined],
    ["POST", "/grants", { reference: "r", amount: 1 }],
    ["POST", "/keys", {}],
    ["POST", "/keys", { sha256: "a".repeat(64) }],
    ["POST", "/signing-secrets", {}],
  ];

  it.each(ROUTES)("is answered by 404: %s %s", async (method, path, body) => {
    const unknown = crypto.randomUUID();
    const bytes = new Set<string>();
    for (const id of [unknown, crypto.randomUUID()]) {
      const response = await call(`/v1/accounts/${id}${path}`, { method, body });
      expect(response.status).toBe(404);
      bytes.add(await response.text());
    }
    expect(bytes.size).toBe(1);
    for (const id of ["x".repeat(65), "a.b", "%C3%A9", "key:0", "a%2Fb"]) {
      const response = await call(`/v1/accounts/${id}${path}`, { method, body });
      const { status, paths } = await refusal(response);
      expect({ status, paths }).toEqual({ status: 400, paths: ["/account"] });
    }
    expect(await storageOf(unknown)).toEqual({ keys: [], tables: [], alarm: null });
  });

  it("cannot have a task, registered or made by an event, with or without credits", async () => {
    const account = crypto.randomUUID();
    const id = crypto.randomUUID();
    const event = { id, status: "processing", model: "m", account };
    for (const response of [
      await post("/v1/tasks", { id, model: "m", account }),
      await post("/v1/tasks", { id, model: "m", account, credits: 1 }),
      await post("/v1/events", event),
    ]) {
      expect(await refusal(response)).toEqual(UNKNOWN);
    }
    expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
    expect(await storageOf(account)).toEqual({ keys: [], tables: [], alarm: null });
    // An answer that there is none is not remembered.
    await post("/v1/accounts", { id: account });
    expect((await post("/v1/events", event)).status).toBe(202);
  });
});

describe("GET /v1/accounts", () => {
  it("answers 501 index_disabled without the index", async () => {
    const response = await call("/v1/accounts");
    expect(await refusal(response)).toEqual({ status: 501, code: "index_disabled" });
  });
});

describe("an account that cannot be reached", () => {
  it("is answered by 503 unavailable and Retry-After, on every route that asks it", async () => {
    const account = await anAccount(5);
    const { key } = await aKey(account);
    const stub = new Proxy({}, { get: () => lost });
    const bindings = { ...env, ACCOUNTS: { getByName: () => stub } };
    const path = `/v1/accounts/${account}`;
    const reference = "r";
    for (const request of [
      aRequest(path),
      aRequest(path, { key }),
      aRequest("/v1/accounts", { body: { id: account } }),
      aRequest(`${path}/grants`, { body: { reference, amount: 1 } }),
      aRequest(`${path}/entries`),
      aRequest(`${path}/keys`, { body: {} }),
      aRequest(`${path}/keys/1`, { method: "DELETE" }),
      aRequest(`${path}/signing-secrets`),
      aRequest(`${path}/signing-secrets`, { method: "POST" }),
      aRequest("/v1/tasks", { body: { model: "m", account } }),
    ]) {
      const response = await app.fetch(request, bindings);
      expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
    }
    expect(await balanceOf(account)).toBe(5);
  });
});
