import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { accountStub, aKey, anAccount, profileStub, tablesOf } from "./accounts.ts";
import { call, post } from "./client.ts";
import { pass, useClock } from "./clock.ts";

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

/** Keys that must not work, made from the keys of the account of the test. */
const JUNK: readonly [string, () => string][] = [
  ["for an account that does not exist", () => `trk_${crypto.randomUUID()}_${hex("a")}`],
  ["that is invented for an existing account", () => `trk_${account}_${hex("a")}`],
  ["that is revoked", () => revoked],
  ["that lacks its last character", () => good.slice(0, -1)],
  ["that ends after its account", () => `trk_${account}_`],
  ["with one character too many", () => `${good}0`],
  ["in upper case", () => good.toUpperCase()],
  ["with a changed last digit", () => good.replace(/.$/, (end) => (end === "0" ? "1" : "0"))],
  ["with another account in its name", () => good.replace(account, `${account}x`)],
  ["with an account id that is too long", () => `trk_${"x".repeat(65)}_${hex("a")}`],
  ["with an empty account id", () => `trk__${hex("a")}`],
  ["that names the object of a key", () => `trk_key:${"a".repeat(64)}_${hex("a")}`],
  ["that was never imported", () => `sk-live-${crypto.randomUUID()}`],
  ["that is too short", () => "sk-live"],
  ["that is too long", () => "k".repeat(257)],
  ["that contains SQL", () => "'OR/**/1=1;DROP/**/TABLE/**/keys--"],
];

async function challenge(key: string | null, authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const response = await call(`/v1/accounts/${account}`, { key, headers });
  const scheme = response.headers.get("WWW-Authenticate");
  return { status: response.status, scheme, body: await response.text() };
}

/** Reads the rows of the account's keys. */
function keyRows(): Promise<unknown> {
  return runInDurableObject(profileStub(account), (_, { storage }) =>
    storage.sql.exec("SELECT * FROM keys ORDER BY id").toArray(),
  );
}

async function accountObjectIds(): Promise<readonly string[]> {
  return (await listDurableObjectIds(env.ACCOUNTS)).map(String);
}

it.each(JUNK)(
  "a key %s gets the 401 of a wrong operator key and leaves no trace",
  async (_, make) => {
    const expected = await challenge("a-wrong-operator-key");
    expect(expected).toMatchObject({ status: 401, scheme: expect.stringMatching(/^Bearer/) });
    const before = await keyRows();
    expect(await challenge(make())).toEqual(expected);
    expect(await keyRows()).toEqual(before);
  },
);

it.each(ROUTES.filter(({ access }) => access !== "anyone"))(
  "$method $path answers 401 to revoked, invented and unknown keys",
  async ({ method, path }) => {
    const filled = path.replace("{id}", crypto.randomUUID()).replace("{account}", account);
    for (const key of [revoked, `trk_${account}_${hex("a")}`, "sk-live-0123456789abcdef"]) {
      const response = await call(filled.replace("{key}", "1"), { method, key });
      expect(response.status).toBe(401);
    }
  },
);

it("an account key works only in the Bearer scheme, whole and alone", async () => {
  const expected = await challenge(null);
  for (const authorization of [good, `Basic ${good}`, `Bearer ${good} x`, `Bearer "${good}"`]) {
    expect(await challenge(null, authorization)).toEqual(expected);
  }
  expect(await challenge(null, `bearer ${good}`)).toMatchObject({ status: 200 });
});

it("an account key still works after the isolate's cache entry has expired", async () => {
  expect((await challenge(good)).status).toBe(200);
  pass(61_000);
  expect((await challenge(good)).status).toBe(200);
});

it("an unknown key leaves no storage, no table and no alarm in any object", async () => {
  const before = new Set(await accountObjectIds());
  const names = Array.from({ length: 5 }, () => crypto.randomUUID());
  for (const name of names) {
    await call(`/v1/accounts/${name}`, { key: `trk_${name}_${hex("b")}` });
    await post("/v1/tasks", { model: "m" }, { key: `sk-live-${name}` });
  }
  const added = (await accountObjectIds()).filter((id) => !before.has(id));
  const { ACCOUNTS } = env;
  const stubs = added.map((id) => ACCOUNTS.get(ACCOUNTS.idFromString(id)));
  for (const stub of [...stubs, ...names.map(accountStub), ...names.map(profileStub)]) {
    await runInDurableObject(stub, async (_, { storage }) => {
      expect(tablesOf(storage.sql)).toEqual([]);
      expect(Array.from(storage.kv.list())).toEqual([]);
      expect(await storage.getAlarm()).toBeNull();
    });
  }
});
