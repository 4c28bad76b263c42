import { expect, it, vi } from "vitest";
import * as z from "zod";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import { aForeignKey, aKey, anAccount, anImportedKey, statusFor } from "./accounts.ts";
import { call, invalid, post, refusal } from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const ID = expect.stringMatching(/^\S{8,}$/);
const REUSED = { status: 409, code: "reference_reused" };
const Created = z.looseObject({ id: z.string(), key: z.string().optional() });
const Keys = z.strictObject({ data: z.array(z.looseObject({ id: z.string() })) });

const make = (account: string, body: unknown) => post(`/v1/accounts/${account}/keys`, body);
const revoke = (account: string, id: string) =>
  call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });

async function keysOf(account: string) {
  return Keys.parse(await (await call(`/v1/accounts/${account}/keys`)).json()).data;
}

it("POST /v1/accounts/{account}/keys returns a generated key in full only once; GET shows only its id, name, prefix, label, role and times", async () => {
  const account = await anAccount();
  const response = await make(account, { label: "production" });
  expect([response.status, response.headers.get("Cache-Control")]).toEqual([201, "no-store"]);
  const { key = "", ...view } = Created.parse(await response.json());
  expect(key).toMatch(new RegExp(`^trk_${account}_[0-9a-f]{48}_[A-Za-z0-9_-]{43}$`));
  expect(view).toEqual({
    id: ID,
    name: (await sha256Hex(key)).slice(0, 8),
    prefix: key.slice(0, `trk_${account}_`.length + 6),
    label: "production",
    role: "full",
    created_at: START_S,
  });
  expect(await keysOf(account)).toEqual([view]);
  expect(await statusFor(account, key)).toBe(200);
  const text = await (await call(`/v1/accounts/${account}/keys`)).text();
  const last_used_at = Math.floor(START / DAY_MS) * (DAY_MS / 1000);
  expect(JSON.parse(text)).toEqual({ data: [{ ...view, last_used_at }] });
  expect(text).not.toContain(key.slice(-42));
  expect(text).not.toContain(await sha256Hex(key));
});

it("two requests without a label to POST /v1/accounts/{account}/keys generate two different keys, which both work", async () => {
  const account = await anAccount();
  const keys = [await aKey(account), await aKey(account)];
  expect(new Set(keys.map(({ key }) => key)).size).toBe(2);
  for (const { key } of keys) expect(await statusFor(account, key)).toBe(200);
  expect((await keysOf(account)).map(({ label }) => label)).toEqual([null, null]);
});

it("POST /v1/accounts/{account}/keys imports an existing key by its SHA-256 hash, even when the key contains the id of another account", async () => {
  const account = await anAccount();
  const { key, view } = await anImportedKey(account, `trk_somebody_${crypto.randomUUID()}`);
  expect(view).toMatchObject({ id: ID, label: "old", created_at: START_S });
  expect(view).not.toHaveProperty("key");
  expect(await statusFor(account, key)).toBe(200);
  expect(await statusFor(account, `${key}x`)).toBe(401);
});

it("an account that imports the hash of a key twice gets the same API key again, or 409 when the second request asks for another role", async () => {
  const account = await anAccount();
  const { id, key } = await anImportedKey(account);
  pass(5000);
  expect((await anImportedKey(account, key)).id).toBe(id);
  const other = await make(account, { sha256: await sha256Hex(key), role: "read" });
  expect(await refusal(other)).toEqual(REUSED);
  expect(await keysOf(account)).toMatchObject([{ id, role: "full" }]);
});

it('POST /v1/accounts/{account}/keys with the role "read" makes a generated or imported key that may read but not send test callbacks', async () => {
  const account = await anAccount();
  const foreign = aForeignKey();
  const response = await make(account, { role: "read" });
  const generated = Created.parse(await response.json()).key ?? "";
  await make(account, { role: "read", sha256: await sha256Hex(foreign) });
  expect(await keysOf(account)).toMatchObject([{ role: "read" }, { role: "read" }]);
  for (const key of [generated, foreign]) {
    expect(await statusFor(account, key)).toBe(200);
    const test = post("/v1/callbacks/test", { callback_url: CALLBACK_URL }, { key });
    expect(await refusal(await test)).toEqual({ status: 403, code: "forbidden" });
  }
});

it("an import of an API key that failed between its writes to two Durable Objects is completed when the request is repeated", async () => {
  const account = await anAccount();
  const key = aForeignKey();
  failOnce("addListedKey");
  expect((await make(account, { sha256: await sha256Hex(key) })).status).toBe(500);
  expect(await keysOf(account)).toEqual([]);
  await anImportedKey(account, key);
  expect(await keysOf(account)).toHaveLength(1);
  expect(await statusFor(account, key)).toBe(200);
});

/** Makes the next call of this method of an account object fail. */
function failOnce(method: "addListedKey" | "releaseKeyHash" | "removeKey"): void {
  vi.spyOn(AccountObject.prototype, method).mockImplementationOnce(() => {
    throw new Error("planted failure");
  });
}

it.each([
  ["imported", anImportedKey],
  ["generated", aKey],
])(
  "POST /v1/accounts/{account}/keys answers 409 when an account imports a key that was %s by another account",
  async (_, making) => {
    const [owner, thief] = [await anAccount(), await anAccount()];
    const { key } = await making(owner);
    expect(await refusal(await make(thief, { sha256: await sha256Hex(key) }))).toEqual(REUSED);
    expect(await keysOf(thief)).toEqual([]);
    expect(await statusFor(owner, key)).toBe(200);
    expect(await statusFor(thief, key)).toBe(404);
  },
);

// The fuzz test of bodies compares every field with the contract; here are examples.
it.each<[string, unknown, string]>([
  ["a hash in upper case", { sha256: "A".repeat(64) }, "/sha256"],
  ["a label with a lone surrogate", { label: "\ud800a" }, "/label"],
  ["a key chosen by the caller", { key: "mine" }, "/key"],
])("POST /v1/accounts/{account}/keys rejects %s and stores no key", async (_, body, path) => {
  const account = await anAccount();
  expect(await refusal(await make(account, body))).toEqual(invalid(path));
  expect(await keysOf(account)).toEqual([]);
});

const MAKERS = [
  ["a generated", aKey],
  ["an imported", anImportedKey],
] as const;

it.each(
  MAKERS.flatMap(([name, making]) => [
    [
      name,
      "just before it removes the entry for the hash of the key",
      making,
      "releaseKeyHash",
    ] as const,
    [
      name,
      "just before it removes the key from the list of the account",
      making,
      "removeKey",
    ] as const,
  ]),
)(
  "when DELETE /v1/accounts/{account}/keys/{key} of %s key fails %s, repeating the request completes the deletion",
  async (_, __, making, method) => {
    const account = await anAccount();
    const { id, key } = await making(account);
    failOnce(method);
    expect((await revoke(account, id)).status).toBe(500);
    expect((await revoke(account, id)).status).toBe(204);
    expect(await keysOf(account)).toEqual([]);
    expect(await statusFor(account, key)).toBe(401);
  },
);

it.each(MAKERS)(
  "DELETE /v1/accounts/{account}/keys/{key} makes %s key invalid within 60 s, even when it was used just before",
  async (_, making) => {
    const account = await anAccount();
    const other = await aKey(account);
    const { id, key } = await making(account);
    expect(await statusFor(account, key)).toBe(200);
    const response = await revoke(account, id);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(await keysOf(account)).toMatchObject([{ id: other.id }]);
    pass(59_000);
    // A use of the revoked key does not extend the 60 s.
    await statusFor(account, key);
    pass(1000);
    expect(await statusFor(account, key)).toBe(401);
    expect(await statusFor(account, other.key)).toBe(200);
  },
);

it("DELETE /v1/accounts/{account}/keys/{key} takes effect at once for a key that was never used", async () => {
  const account = await anAccount();
  const { id, key } = await aKey(account);
  await revoke(account, id);
  expect(await statusFor(account, key)).toBe(401);
});

it("when a DELETE of an API key fails half-way, another account can import the key; repeating the DELETE then leaves that account's key valid", async () => {
  const [first, second] = [await anAccount(), await anAccount()];
  const { id, key } = await anImportedKey(first);
  failOnce("removeKey");
  expect((await revoke(first, id)).status).toBe(500);
  await anImportedKey(second, key);
  expect((await revoke(first, id)).status).toBe(204);
  expect(await statusFor(second, key)).toBe(200);
});

it("DELETE /v1/accounts/{account}/keys/{key} leaves no working key even when the same key is imported while it is being revoked", async () => {
  const account = await anAccount();
  const { id, key } = await anImportedKey(account);
  vi.spyOn(AccountObject.prototype, "removeKey").mockImplementationOnce(async () => {
    await anImportedKey(account, key);
  });
  expect((await revoke(account, id)).status).toBe(204);
  expect(await statusFor(account, key)).toBe(401);
});

it("DELETE /v1/accounts/{account}/keys/{key} gives the same 404 response for unknown keys, revoked keys and keys of other accounts", async () => {
  const [account, other] = [await anAccount(), await anAccount()];
  const { id } = await aKey(account);
  const { id: foreign } = await aKey(other);
  expect((await revoke(account, id)).status).toBe(204);
  const bodies = new Set<string>();
  for (const each of [id, foreign, crypto.randomUUID(), "%20"]) {
    const response = await revoke(account, each);
    expect(response.status).toBe(404);
    bodies.add(await response.text());
  }
  expect(bodies.size).toBe(1);
  expect(await keysOf(other)).toHaveLength(1);
});
