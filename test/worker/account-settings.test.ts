import { env } from "../../src/startup.ts";
import { expect, it, vi } from "vitest";
import { tagsOfAccount } from "../../src/api/accounts/account-client.ts";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { aKey, anAccount, change, profileStub } from "./accounts.ts";
import { call, invalid, OPERATOR_NAME, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";

useClock();

const SETTINGS = { tags: ["resellers", "eu-1"], low_balance: 20, monthly_limit: 500 };

function put(account: string, body: unknown, key?: string): Promise<Response> {
  const message = { method: "PUT", body: JSON.stringify(body) };
  return call(`/v1/accounts/${account}`, key === undefined ? message : { ...message, key });
}

async function accountOf(id: string, key?: string): Promise<unknown> {
  return (await call(`/v1/accounts/${id}`, key === undefined ? {} : { key })).json();
}

it("PUT /v1/accounts/{account} sets tags, low_balance and monthly_limit, and answers with the account", async () => {
  const id = await anAccount(7);
  const account = { id, balance: 7, ...SETTINGS, spent_this_month: 0, created_at: START_S };
  const response = await put(id, SETTINGS);
  expect([response.status, await response.json()]).toEqual([200, account]);
  expect(await accountOf(id)).toEqual(account);
});

it("PUT /v1/accounts/{account} replaces all settings: a member that is left out or null is removed", async () => {
  const id = await anAccount();
  await change(id, SETTINGS);
  await change(id, { low_balance: null, monthly_limit: 9 });
  expect(await accountOf(id)).toMatchObject({ tags: [], low_balance: null, monthly_limit: 9 });
  await change(id, {});
  expect(await accountOf(id)).toMatchObject({ tags: [], low_balance: null, monthly_limit: null });
});

it("an account sees its limits, but not its tags", async () => {
  const id = await anAccount();
  await change(id, SETTINGS);
  const { key } = await aKey(id);
  const { tags: _, ...limits } = SETTINGS;
  const seen = { id, balance: 0, ...limits, spent_this_month: 0, created_at: START_S };
  expect(await accountOf(id, key)).toEqual(seen);
});

it.each([
  [{ tags: ["Resellers"] }, "/tags/0"],
  [{ tags: [""] }, "/tags/0"],
  [{ tags: ["a".repeat(41)] }, "/tags/0"],
  [{ tags: ["a", "b", "a"] }, "/tags"],
  [{ tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, "/tags"],
  [{ tags: "resellers" }, "/tags"],
  [{ low_balance: -1 }, "/low_balance"],
  [{ monthly_limit: 0.5 }, "/monthly_limit"],
  [{ monthly_limit: 2 ** 53 }, "/monthly_limit"],
  [{ tag: ["a"] }, "/tag"],
])("PUT /v1/accounts/{account} refuses %j, and changes nothing", async (body, path) => {
  const id = await anAccount();
  await change(id, SETTINGS);
  expect(await refusal(await put(id, body))).toEqual(invalid(path));
  expect(await accountOf(id)).toMatchObject(SETTINGS);
});

it("PUT /v1/accounts/{account} takes 20 tags of 40 characters", async () => {
  const id = await anAccount();
  const tags = Array.from({ length: 20 }, (_, i) => String(i).padEnd(40, "-"));
  await change(id, { tags });
  expect(await accountOf(id)).toMatchObject({ tags });
});

it("an account that does not exist or was deleted cannot be changed, and an account cannot change itself", async () => {
  const unknown = { status: 404, code: "not_found" };
  expect(await refusal(await put("nobody", SETTINGS))).toEqual(unknown);
  const id = await anAccount();
  const { key } = await aKey(id);
  expect(await refusal(await put(id, SETTINGS, key))).toEqual({ status: 403, code: "forbidden" });
  await call(`/v1/accounts/${id}?force=true`, { method: "DELETE" });
  expect(await refusal(await put(id, SETTINGS))).toEqual(unknown);
});

it("the log names the key that has changed an account", async () => {
  const id = await anAccount();
  const written = vi.spyOn(console, "log");
  await change(id, SETTINGS);
  const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)));
  const line = { event: "account.change", account: id, by: OPERATOR_NAME };
  expect(lines).toContainEqual(expect.objectContaining(line));
});

it("the tags of an account are read once a minute, and new ones are in use at once where they were set", async () => {
  const id = await anAccount();
  await change(id, { tags: ["a"] });
  const read = vi.spyOn(AccountObject.prototype, "profile");
  for (let count = 0; count < 3; count++) expect(await tagsOfAccount(env, id)).toEqual(["a"]);
  expect(read).toHaveBeenCalledTimes(1);
  await profileStub(id).noteSettings({
    ...SETTINGS,
    lowBalance: null,
    monthlyLimit: null,
    revision: 9,
  });
  expect(await tagsOfAccount(env, id)).toEqual(["a"]);
  pass(60_000);
  expect(await tagsOfAccount(env, id)).toEqual(SETTINGS.tags);
  expect(await tagsOfAccount(env, "nobody")).toEqual([]);
});

it("when the tags could be stored only in the ledger, the request fails, and a repeated one stores them everywhere", async () => {
  const id = await anAccount();
  vi.spyOn(AccountObject.prototype, "noteSettings").mockImplementationOnce(() => {
    throw new Error("planted failure");
  });
  expect((await put(id, SETTINGS)).status).toBe(500);
  expect((await put(id, SETTINGS)).status).toBe(200);
  expect(await tagsOfAccount(env, id)).toEqual(SETTINGS.tags);
});

it("when the copies of two changes of an account's settings arrive in the other order, the copy of the later change stays", async () => {
  const id = await anAccount();
  const settings = { lowBalance: null, monthlyLimit: null };
  const profile = profileStub(id);
  await profile.noteSettings({ ...settings, tags: ["later"], revision: 2 });
  await profile.noteSettings({ ...settings, tags: ["earlier"], revision: 1 });
  expect(await tagsOfAccount(env, id)).toEqual(["later"]);
});
