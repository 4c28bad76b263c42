import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import {
  accountStub,
  aCharged,
  aForeignKey,
  aKey,
  anAccount,
  anImportedKey,
  balanceOf,
  booksOf,
  breakLedger,
  grant,
  priced,
  profileStub,
} from "./accounts.ts";
import { call, invalid, post, refusal } from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { wake } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { aFailure, finish, read, report } from "./tasks.ts";

useClock();

const UNKNOWN = { status: 404, code: "not_found" };
/**
 * Time until a deleted account's entries are replaced: the longest deadline and a quarter of it, and
 * `RETENTION_DAYS`.
 */
const FOLD_AFTER_MS = (365 * 1.25 + 28) * DAY_MS;

function remove(account: string, query = "?force=true"): Promise<Response> {
  return call(`/v1/accounts/${account}${query}`, { method: "DELETE" });
}

async function deleted(credits = 0): Promise<string> {
  const account = await anAccount(credits);
  expect((await remove(account)).status).toBe(202);
  return account;
}

function alarmOf(account: string): Promise<number | null> {
  return runInDurableObject(accountStub(account), (_, { storage }) => storage.getAlarm());
}

/** Runs the alarms of the ledger until the given time. */
async function runUntil(account: string, time: number): Promise<void> {
  for (;;) {
    const at = await alarmOf(account);
    if (at === null || at > time) break;
    pass(at - Date.now());
    await runDurableObjectAlarm(accountStub(account));
  }
  pass(time - Date.now());
}

it("DELETE /v1/accounts/{account} answers 202, also when repeated, and the operator can still read the account", async () => {
  const account = await anAccount(5);
  pass(5000);
  for (let count = 0; count < 2; count++) {
    const response = await remove(account);
    expect([response.status, await response.text()]).toEqual([202, ""]);
    pass(5000);
  }
  expect(await (await call(`/v1/accounts/${account}`)).json()).toMatchObject({
    id: account,
    balance: 5,
    created_at: START_S,
    deleted_at: START_S + 5,
  });
  expect(await booksOf(account)).toEqual(["grant 5"]);
});

it("without the D1 database INDEX_DB, DELETE /v1/accounts/{account} answers 501 and changes nothing, unless the query has force=true", async () => {
  const account = await anAccount(5);
  for (const query of ["", "?force=false"]) {
    const answer = await refusal(await remove(account, query));
    expect(answer).toEqual({ status: 501, code: "index_disabled" });
  }
  expect((await post("/v1/tasks", priced(account, 1))).status).toBe(201);
});

it("DELETE /v1/accounts/{account} answers 404 for an account that never existed, and 400 if ?force has a value other than true and false", async () => {
  expect(await refusal(await remove(crypto.randomUUID()))).toEqual(UNKNOWN);
  const account = await anAccount();
  expect(await refusal(await remove(account, "?force=yes"))).toEqual(invalid("/force"));
});

it("DELETE /v1/accounts/{account} ends all keys of the account within 60 s and empties the list of its keys, and ends no key of another account", async () => {
  const [account, other] = [await anAccount(), await anAccount()];
  const keys = [await aKey(account), await anImportedKey(account)];
  const { key: foreign } = await anImportedKey(other);
  const path = `/v1/accounts/${account}`;
  expect((await call(path, { key: keys[0]?.key ?? "" })).status).toBe(200);
  await remove(account);
  pass(60_000);
  for (const { key } of keys) expect((await call(path, { key })).status).toBe(401);
  expect((await call(`/v1/accounts/${other}`, { key: foreign })).status).toBe(200);
  const rows = await runInDurableObject(profileStub(account), (_, { storage }) =>
    storage.sql.exec("SELECT * FROM api_keys").toArray(),
  );
  expect(rows).toEqual([]);
});

it("after DELETE /v1/accounts/{account}, every request that would add something to the account gets 404, as for an unknown account", async () => {
  const account = await deleted(10);
  const path = `/v1/accounts/${account}`;
  const event = { id: crypto.randomUUID(), status: "processing", model: "m", account };
  for (const response of [
    await post("/v1/tasks", { model: "m", account }),
    await post("/v1/tasks", priced(account, 1)),
    await report(event),
    await post(`${path}/grants`, { reference: "r", amount: 1 }),
    await post(`${path}/adjustments`, { reference: "r", amount: 1, reason: "x" }),
    await post(`${path}/keys`, {}),
    await post(`${path}/keys`, { sha256: "a".repeat(64) }),
    await post(`${path}/signing-secrets`, {}),
    await call(`${path}/keys`),
    await call(`${path}/signing-secrets`),
  ]) {
    expect(await refusal(response)).toEqual(UNKNOWN);
  }
  expect(await booksOf(account)).toEqual(["grant 10"]);
});

it("a request for a new key that is under way while its account is deleted adds no key to the account's list", async () => {
  const account = await deleted();
  const key = { id: crypto.randomUUID(), sha256: "ab".repeat(32), prefix: "sk", label: null };
  const added = { ...key, role: "full", createdAt: START, lastUsedDay: null } as const;
  expect(await profileStub(account).addListedKey(added)).toBeNull();
});

it("POST /v1/accounts answers 409 to the id of a deleted account, because an id is never used for a second account", async () => {
  const account = await deleted();
  const answer = await refusal(await post("/v1/accounts", { id: account }));
  expect(answer).toEqual({ status: 409, code: "reference_reused" });
});

it("a DELETE /v1/accounts/{account} that failed half-way is completed by repeating it", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const heal = await breakLedger(account);
  expect((await remove(account)).status).toBeGreaterThanOrEqual(500);
  heal();
  expect((await remove(account)).status).toBe(202);
  expect((await call(`/v1/accounts/${account}`, { key })).status).toBe(401);
});

it.each([
  ["ran while the account was being deleted", () => null, 404, []],
  ["failed half-way before the account was deleted", never, 500, [remove]],
])("an API key whose import %s gets 401", async (_, answer, status, later) => {
  const account = await anAccount();
  const key = aForeignKey();
  vi.spyOn(AccountObject.prototype, "addListedKey").mockImplementationOnce(answer);
  const body = { sha256: await sha256Hex(key) };
  expect((await post(`/v1/accounts/${account}/keys`, body)).status).toBe(status);
  for (const end of later) await end(account);
  expect((await call(`/v1/accounts/${account}`, { key })).status).toBe(401);
});

function never(): never {
  throw new Error("planted failure");
}

it("an account's ledger finds the charges of the last minutes that have no refund or release, newest first, and reads no older entries", async () => {
  const account = await anAccount(100);
  await runInDurableObject(accountStub(account), (object, { storage }) => {
    const charge = (name: string) =>
      object.charge({ reference: name, amount: 1 }, `task ${name}`, Date.now(), null, "m");
    for (let count = 0; count < 50; count++) charge(`old ${count}`);
    pass(1000);
    for (const name of ["a", "b", "c", "d"]) charge(name);
    object.refund("b", "task b");
    object.release({ reference: "d", amount: 1 }, "task d");
    const exec = vi.spyOn(storage.sql, "exec");
    expect(object.recentlyCharged(Date.now() - 1, 9)).toEqual(["task c", "task a"]);
    expect(object.recentlyCharged(Date.now() - 1, 1)).toEqual(["task c"]);
    const [first] = exec.mock.results;
    expect(first?.type === "return" && first.value.rowsRead).toBeLessThan(25);
    expect(object.recentlyCharged(0, 99)).toHaveLength(52);
  });
});

it("after an account is deleted, its ledger still refunds the charges of open tasks once, and their callbacks are sent", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await remove(account);
  await finish(aFailure(id));
  expect(await read(id)).toMatchObject({ status: "failed", credits: { state: "refunded" } });
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "refund 4"]);
  const [, { reference } = { reference: "" }] = await entries(account);
  expect(await accountStub(account).refund(reference, id)).toBe(true);
  expect(await balanceOf(account)).toBe(10);
});

it("after an account is deleted, its ledger answers a repeated charge from before the deletion as charged, and does not book it again", async () => {
  const account = await anAccount(10);
  const order = { reference: "c", amount: 4 };
  const charge = () =>
    accountStub(account).charge(order, crypto.randomUUID(), Date.now(), null, "m");
  expect(await charge()).toEqual({ kind: "charged", generation: 1 });
  await remove(account);
  expect(await charge()).toEqual({ kind: "charged", generation: 1 });
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
});

it("after an account is deleted, its ledger keeps every entry until no refund can be due any more, and then one entry with the balance", async () => {
  aReceiver();
  const account = await anAccount(10);
  const latest = { deadline_at: START_S + (365 * DAY_MS) / 1000 };
  const id = await aCharged(account, 4, latest);
  await aCharged(account, 3);
  pass(1000);
  await remove(account);
  await runUntil(account, START + 365 * DAY_MS);
  await wake(id);
  expect(await read(id)).toMatchObject({ credits: { state: "refunded" } });
  const foldAt = START + 1000 + FOLD_AFTER_MS;
  await runUntil(account, foldAt - 1);
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "charge 3", "refund 4"]);
  await runUntil(account, foldAt + 1000);
  expect(await booksOf(account)).toEqual(["opening 7"]);
  expect([await balanceOf(account), await alarmOf(account)]).toEqual([7, null]);
  expect((await post("/v1/accounts", { id: account })).status).toBe(409);
});

it("the ledger of a deleted account is reduced to one entry with the balance, even if it had 5,001 entries, more than the relay deletes at once", async () => {
  const account = await anAccount();
  await runInDurableObject(accountStub(account), (object) => {
    for (let i = 0; i < 5_001; i++) object.grant({ reference: `r${i}`, amount: 1 });
  });
  await remove(account);
  await runUntil(account, START + FOLD_AFTER_MS + 10_000);
  expect(await booksOf(account)).toEqual(["opening 5001"]);
  expect(await alarmOf(account)).toBeNull();
});

it("the ledger of a deleted account with a negative balance is reduced to one entry with that balance", async () => {
  const account = await anAccount();
  await grant(account, 1);
  const order = { reference: "r", amount: -5, reason: "x" };
  await post(`/v1/accounts/${account}/adjustments`, order);
  await remove(account);
  await runUntil(account, START + FOLD_AFTER_MS);
  expect(await booksOf(account)).toEqual(["opening -4"]);
});

async function entries(account: string) {
  return (await accountStub(account).entries(null, Number.MAX_SAFE_INTEGER, 10)) ?? [];
}
