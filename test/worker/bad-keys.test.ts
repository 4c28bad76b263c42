import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { accountStub, aKey, anAccount } from "./accounts.ts";
import { call, pass, post, useClock } from "./support.ts";

useClock();

const hex = (digit: string) => digit.repeat(48);

let account = "";
let good = "";
let revoked = "";

beforeEach(async () => {
  account = await anAccount();
  good = (await aKey(account)).key;
  const { id, key } = await aKey(account);
  revoked = key;
  await call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });
});

/** Keys that are none, each made from those of an account. */
const JUNK: readonly [string, () => string][] = [
  ["of an account that does not exist", () => `trk_${crypto.randomUUID()}_${hex("a")}`],
  ["of an account that exists", () => `trk_${account}_${hex("a")}`],
  ["that is revoked", () => revoked],
  ["cut short by one character", () => good.slice(0, -1)],
  ["cut down to its account", () => `trk_${account}_`],
  ["one character too long", () => `${good}0`],
  ["in upper case", () => good.toUpperCase()],
  ["with its last digit changed", () => good.replace(/.$/, (end) => (end === "0" ? "1" : "0"))],
  ["that names another account", () => good.replace(account, `${account}x`)],
  ["of an account id that is too long", () => `trk_${"x".repeat(65)}_${hex("a")}`],
  ["of an empty account id", () => `trk__${hex("a")}`],
  ["that names the object of a key", () => `trk_key:${"a".repeat(64)}_${hex("a")}`],
  ["that nobody imported", () => `sk-live-${crypto.randomUUID()}`],
  ["too short to be one", () => "sk-live"],
  ["too long to be one", () => "k".repeat(257)],
  ["of SQL", () => "'OR/**/1=1;DROP/**/TABLE/**/keys--"],
];

async function challenge(key: string | null, authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const response = await call(`/v1/accounts/${account}`, { key, headers });
  const { status } = response;
  const told = response.headers.get("WWW-Authenticate");
  return { status, told, body: await response.text() };
}

describe("a key", () => {
  it.each(JUNK)("%s is answered by 401, like a wrong operator key", async (_, make) => {
    const expected = await challenge("a-wrong-operator-key");
    expect(expected).toMatchObject({ status: 401, told: expect.stringMatching(/^Bearer/) });
    const given = await challenge(make());
    expect(given).toEqual(expected);
  });

  it.each(JUNK)("%s opens no guarded route", async (_, make) => {
    const guarded = ROUTES.filter(({ access }) => access !== "anyone");
    for (const { method, path } of guarded) {
      const filled = path.replace("{id}", crypto.randomUUID()).replace("{account}", account);
      const response = await call(filled.replace("{key}", "1"), { method, key: make() });
      expect([path, response.status]).toEqual([path, 401]);
    }
  });

  it("works as a bearer only, whole and alone", async () => {
    const expected = await challenge(null);
    for (const authorization of [good, `Basic ${good}`, `Bearer ${good} x`, `Bearer "${good}"`]) {
      expect(await challenge(null, authorization)).toEqual(expected);
    }
    expect(await challenge(null, `bearer ${good}`)).toMatchObject({ status: 200 });
  });

  it("works in an isolate that has long forgotten it", async () => {
    expect((await challenge(good)).status).toBe(200);
    pass(61_000);
    expect((await challenge(good)).status).toBe(200);
  });
});

describe("junk keys", () => {
  it("leave no storage, no table and no alarm", async () => {
    const before = new Set((await listDurableObjectIds(env.ACCOUNTS)).map(String));
    const names = Array.from({ length: 5 }, () => crypto.randomUUID());
    for (const name of names) {
      await call(`/v1/accounts/${name}`, { key: `trk_${name}_${hex("b")}` });
      await post("/v1/tasks", { model: "m" }, { key: `sk-live-${name}` });
    }
    for (const id of await listDurableObjectIds(env.ACCOUNTS)) {
      if (before.has(String(id))) continue;
      await runInDurableObject(env.ACCOUNTS.get(id), async (_, { storage }) => {
        expect(tablesOf(storage.sql)).toEqual([]);
        expect(Array.from(storage.kv.list())).toEqual([]);
        expect(await storage.getAlarm()).toBeNull();
      });
    }
    for (const name of names) {
      await runInDurableObject(accountStub(name), (_, { storage }) => {
        expect(tablesOf(storage.sql)).toEqual([]);
      });
    }
  });

  it("leave the account that they name as it is", async () => {
    const rows = () =>
      runInDurableObject(accountStub(account), (_, { storage }) =>
        storage.sql.exec("SELECT * FROM keys ORDER BY id").toArray(),
      );
    const before = await rows();
    for (const [, make] of JUNK) await challenge(make());
    expect(await rows()).toEqual(before);
    const sees = (await call(`/v1/accounts/${account}`, { key: good })).status;
    expect(sees).toBe(200);
  });
});

/** All tables but the platform's own. */
function tablesOf(sql: SqlStorage): string[] {
  const query = "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'";
  return sql
    .exec<{ name: string }>(query)
    .toArray()
    .map(({ name }) => name);
}
