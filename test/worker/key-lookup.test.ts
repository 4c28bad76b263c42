import { env } from "../../src/startup.ts";
import { expect, it, vi } from "vitest";
import { claimObject, profileObject } from "../../src/objects/object-names.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import {
  aForeignKey,
  aKey,
  anAccount,
  anImportedKey,
  calledAccountObjects,
  statusFor,
} from "./accounts.ts";
import { call, callWith, post, refusal, UNAUTHENTICATED } from "./client.ts";
import { DAY_MS, pass, START, useClock } from "./clock.ts";

useClock();

it("a generated API key is looked up once a minute in its account's list of keys, and any other key in the list for the first digit of its hash", async () => {
  const account = await anAccount();
  const [{ key: generated }, { key: own }] = [await aKey(account), await anImportedKey(account)];
  await statusFor(account, own);
  pass(60_000);
  const unknown = `trk_${account}_${"0".repeat(48)}_${generated.slice(-43)}`;
  for (const [key, status, list] of [
    [generated, 200, `account-keys:${account}`],
    [own, 200, `keys:${(await sha256Hex(own)).slice(0, 1)}`],
    [unknown, 401, `keys:${(await sha256Hex(unknown)).slice(0, 1)}`],
  ] as const) {
    const called = calledAccountObjects();
    for (let count = 0; count < 3; count++) {
      expect((await call("/v1/tasks/1", { key })).status).toBe(status === 200 ? 404 : status);
    }
    expect(called.filter((name) => name !== "index:")).toEqual([list]);
    vi.restoreAllMocks();
  }
});

it("a generated key still works and can be revoked after RELAY_SECRET was rotated and the secret with which the key was made was removed", async () => {
  const account = await anAccount();
  const { id, key } = await aKey(account);
  const newer = "n".repeat(32);
  const path = `/v1/accounts/${account}`;
  const called = calledAccountObjects();
  for (const RELAY_SECRET of [`${newer} ${env.RELAY_SECRET}`, newer]) {
    pass(60_000);
    expect((await callWith({ ...env, RELAY_SECRET }, path, { key })).status).toBe(200);
  }
  expect(called).toContain(`keys:${(await sha256Hex(key)).slice(0, 1)}`);
  expect((await call(`${path}/keys/${id}`, { method: "DELETE" })).status).toBe(204);
  for (const RELAY_SECRET of [env.RELAY_SECRET, newer]) {
    pass(60_000);
    expect((await callWith({ ...env, RELAY_SECRET }, path, { key })).status).toBe(401);
  }
});

it("requests with an account's key, and requests about keys and signing secrets, never call the Durable Object that holds the account's ledger", async () => {
  const account = await anAccount();
  const called = calledAccountObjects();
  const { id, key } = await aKey(account);
  const path = `/v1/accounts/${account}`;
  expect((await call(`/v1/tasks/${crypto.randomUUID()}`, { key })).status).toBe(404);
  expect((await call(`${path}/signing-secrets`, { key })).status).toBe(200);
  expect((await call(`${path}/keys`)).status).toBe(200);
  expect((await post("/v1/tasks", { model: "m", account })).status).toBe(201);
  expect((await call(`${path}/keys/${id}`, { method: "DELETE" })).status).toBe(204);
  expect(called.length).toBeGreaterThan(4);
  expect(called).not.toContain(account);
});

it.each([
  ["a generated", aKey],
  ["an imported", anImportedKey],
])(
  "a request with %s key of an account records the day of the key's last use",
  async (_, making) => {
    const account = await anAccount();
    const { key } = await making(account);
    for (const days of [0, 1]) {
      pass(days * DAY_MS);
      await statusFor(account, key);
      const last_used_at = (Math.floor(START / DAY_MS) + days) * (DAY_MS / 1000);
      expect(await (await call(`/v1/accounts/${account}/keys`)).json()).toMatchObject({
        data: [{ last_used_at }],
      });
    }
  },
);

it("a key that was refused before its import is accepted at once in the isolate that imported it, and within 60 s in other isolates", async () => {
  const account = await anAccount();
  const [here, elsewhere] = [aForeignKey(), aForeignKey()];
  for (const key of [here, elsewhere]) expect(await statusFor(account, key)).toBe(401);
  await anImportedKey(account, here);
  expect(await statusFor(account, here)).toBe(200);
  const hash = await sha256Hex(elsewhere);
  await claimObject(env, hash).claimKeyHash(hash, { accountId: account, role: "full" });
  pass(59_999);
  expect(await statusFor(account, elsewhere)).toBe(401);
  pass(1);
  expect(await statusFor(account, elsewhere)).toBe(200);
});

it("GET /v1/listen with an API key that another isolate has revoked gets 401 at once, although the key can still read tasks for up to 60 s", async () => {
  const account = await anAccount();
  const { id, key } = await aKey(account);
  expect(await statusFor(account, key)).toBe(200);
  await profileObject(env, account).removeKey(id);
  expect(await statusFor(account, key)).toBe(200);
  const response = await call("/v1/listen", { key, headers: { Upgrade: "websocket" } });
  expect(await refusal(response)).toEqual(UNAUTHENTICATED);
});

it.each([
  ["without a key", "An account key is required: Authorization: Bearer <key>.", null],
  ["with an empty key", "An account key is required: Authorization: Bearer <key>.", ""],
  ["with an unknown key", "The key is unknown or revoked.", "k".repeat(32)],
])("GET /v1/listen %s gets 401 with the text: %s", async (_, detail, key) => {
  const response = await call("/v1/listen", { key, headers: { Upgrade: "websocket" } });
  expect(await response.json()).toMatchObject({ ...UNAUTHENTICATED, detail });
});
