import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { AccountObject } from "../../src/account/account-object.ts";
import { aKey, anAccount } from "./accounts.ts";
import { call, pass, post, refusal, START, START_S, useClock } from "./support.ts";

useClock();

const DAY = 86_400_000;
const ID = expect.stringMatching(/^\S{8,}$/);
const Keys = z.strictObject({ data: z.array(z.looseObject({ id: z.string() })) });

async function sha256(key: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const make = (account: string, body: unknown) => post(`/v1/accounts/${account}/keys`, body);
const revoke = (account: string, id: string) =>
  call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });

async function keysOf(account: string) {
  return Keys.parse(await (await call(`/v1/accounts/${account}/keys`)).json()).data;
}

async function statusFor(account: string, key: string): Promise<number> {
  return (await call(`/v1/accounts/${account}`, { key })).status;
}

/** A key as another system would have made it, and its import. */
async function imported(account: string, key = `sk-live-${crypto.randomUUID()}`) {
  const response = await make(account, { sha256: await sha256(key), label: "old" });
  expect(response.status).toBe(201);
  return { key, ...z.looseObject({ id: z.string() }).parse(await response.json()) };
}

describe("POST /v1/accounts/{account}/keys", () => {
  it("shows a generated key, once; after that its prefix, label and times", async () => {
    const account = await anAccount();
    const response = await make(account, { label: "production" });
    expect(response.status).toBe(201);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    const { key, ...view } = z
      .looseObject({ key: z.string(), prefix: z.string() })
      .parse(await response.json());
    expect(key).toMatch(new RegExp(`^trk_${account}_[0-9a-f]{48}$`));
    expect(view).toEqual({
      id: ID,
      prefix: key.slice(0, `trk_${account}_`.length + 6),
      label: "production",
      created_at: START_S,
    });
    expect(await statusFor(account, key)).toBe(200);
    const text = await (await call(`/v1/accounts/${account}/keys`)).text();
    expect(JSON.parse(text)).toEqual({
      data: [{ ...view, last_used_at: Math.floor(START / DAY) * (DAY / 1000) }],
    });
    expect(text).not.toContain(key.slice(-42));
    expect(text).not.toContain(await sha256(key));
  });

  it("makes another key each time, all of which work, also without a label", async () => {
    const account = await anAccount();
    const keys = [await aKey(account), await aKey(account)];
    expect(new Set(keys.map(({ key }) => key)).size).toBe(2);
    for (const { key } of keys) expect(await statusFor(account, key)).toBe(200);
    expect((await keysOf(account)).map(({ label }) => label)).toEqual([null, null]);
  });

  it("imports a key by its hash, so that a client's own key goes on working", async () => {
    const account = await anAccount();
    const { key, ...view } = await imported(account);
    expect(view).toMatchObject({ id: ID, label: "old", created_at: START_S });
    expect("key" in view).toBe(false);
    expect(await statusFor(account, key)).toBe(200);
    expect(await statusFor(account, `${key}x`)).toBe(401);
  });

  it("imports a key once: the same again is the same key", async () => {
    const account = await anAccount();
    const first = await imported(account);
    pass(5000);
    expect((await imported(account, first.key)).id).toBe(first.id);
    expect(await keysOf(account)).toHaveLength(1);
  });

  it("answers 409 to the import of a key that belongs to another account", async () => {
    const [owner, thief] = [await anAccount(), await anAccount()];
    const { key } = await imported(owner);
    const response = await make(thief, { sha256: await sha256(key) });
    expect(await refusal(response)).toEqual({ status: 409, code: "reference_reused" });
    expect(await keysOf(thief)).toEqual([]);
    expect(await statusFor(owner, key)).toBe(200);
    expect(await statusFor(thief, key)).toBe(404);
  });

  it("never lets an import take over a key that was generated for another account", async () => {
    const [owner, thief] = [await anAccount(), await anAccount()];
    const { key } = await aKey(owner);
    const response = await make(thief, { sha256: await sha256(key) });
    expect(await refusal(response)).toEqual({ status: 409, code: "reference_reused" });
    expect(await statusFor(owner, key)).toBe(200);
    expect(await statusFor(thief, key)).toBe(404);
  });

  it("imports a key that names another account, from another relay", async () => {
    const account = await anAccount();
    const key = `trk_somebody_${"0123456789abcdef".repeat(3)}`;
    await make(account, { sha256: await sha256(key) });
    expect(await statusFor(account, key)).toBe(200);
  });

  it("never asks an account about a key that it does not have", async () => {
    const account = await anAccount();
    const asked = vi.spyOn(AccountObject.prototype, "verifyKey");
    expect(await statusFor(account, `trk_${account}_${"0".repeat(48)}`)).toBe(401);
    expect(asked).not.toHaveBeenCalled();
  });

  it.each<[string, unknown, string]>([
    ["a hash that is too short", { sha256: "a".repeat(63) }, "/sha256"],
    ["a hash that is too long", { sha256: "a".repeat(65) }, "/sha256"],
    ["a hash in upper case", { sha256: "A".repeat(64) }, "/sha256"],
    ["a key instead of its hash", { sha256: "sk-live-0123456789abcdef" }, "/sha256"],
    ["a label of 101 characters", { label: "x".repeat(101) }, "/label"],
    ["a number as a label", { label: 7 }, "/label"],
    ["a key of one's own", { key: "mine" }, "/key"],
  ])("refuses %s, and keeps nothing", async (_, body, path) => {
    const account = await anAccount();
    const paths = [path];
    expect(await refusal(await make(account, body))).toEqual({
      status: 400,
      code: "invalid_request",
      paths,
    });
    expect(await keysOf(account)).toEqual([]);
  });
});

describe("the last use of a key", () => {
  it("is told by the day", async () => {
    const account = await anAccount();
    const { key } = await aKey(account);
    expect(await keysOf(account)).toEqual([expect.not.objectContaining({ last_used_at: 0 })]);
    expect((await keysOf(account))[0]).not.toHaveProperty("last_used_at");
    for (const days of [0, 1]) {
      pass(days * DAY);
      await statusFor(account, key);
      const last_used_at = (Math.floor(START / DAY) + days) * (DAY / 1000);
      expect(await keysOf(account)).toMatchObject([{ last_used_at }]);
    }
  });
});

describe("DELETE /v1/accounts/{account}/keys/{key}", () => {
  it.each([
    ["generated", aKey],
    ["imported", imported],
  ])("revokes a key that was %s, within 60 s of its last use", async (_, making) => {
    const account = await anAccount();
    const other = await aKey(account);
    const { id, key } = await making(account);
    expect(await statusFor(account, key)).toBe(200);
    const response = await revoke(account, id);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(await keysOf(account)).toMatchObject([{ id: other.id }]);
    pass(60_000);
    expect(await statusFor(account, key)).toBe(401);
    expect(await statusFor(account, other.key)).toBe(200);
  });

  it("revokes a key that has never been used at once", async () => {
    const account = await anAccount();
    const { id, key } = await aKey(account);
    await revoke(account, id);
    expect(await statusFor(account, key)).toBe(401);
  });

  it("does not let the use of a revoked key prolong it", async () => {
    const account = await anAccount();
    const { id, key } = await aKey(account);
    await statusFor(account, key);
    await revoke(account, id);
    pass(59_000);
    await statusFor(account, key);
    pass(1000);
    expect(await statusFor(account, key)).toBe(401);
  });

  it("frees an imported key for another account", async () => {
    const [first, second] = [await anAccount(), await anAccount()];
    const { id, key } = await imported(first);
    await revoke(first, id);
    await imported(second, key);
    expect(await statusFor(second, key)).toBe(200);
  });

  it("answers 404 for a key that is unknown, revoked already, or of another account", async () => {
    const [account, other] = [await anAccount(), await anAccount()];
    const { id } = await aKey(account);
    const { id: foreign } = await aKey(other);
    expect((await revoke(account, id)).status).toBe(204);
    const bytes = new Set<string>();
    for (const each of [id, foreign, crypto.randomUUID(), "%20"]) {
      const response = await revoke(account, each);
      expect(response.status).toBe(404);
      bytes.add(await response.text());
    }
    expect(bytes.size).toBe(1);
    expect(await keysOf(other)).toHaveLength(1);
  });
});
