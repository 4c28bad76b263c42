import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { accountStub, aCharged, anAccount, change, grant } from "../worker/accounts.ts";
import { call, post } from "../worker/client.ts";
import { DAY_MS, pass, START, START_S, until } from "../worker/clock.ts";
import { started } from "../worker/started.ts";
import { aFailure, finish } from "../worker/tasks.ts";
import { idOf, OPERATOR_BINDINGS, OPERATOR_URL, operatorEvents, receivers } from "./operator.ts";
import { useIndex } from "./support.ts";

useIndex();

/** Creates an account whose ledger sends operator events, by default to a receiver. */
async function anAccountWith(
  credits: number,
  settings: object,
  bindings: object = OPERATOR_BINDINGS,
): Promise<string> {
  const account = await anAccount(credits);
  const value = await started({ ...env, ...bindings });
  await runInDurableObject(accountStub(account), (instance) => {
    Object.defineProperty(instance, "env", { value });
  });
  await change(account, settings);
  return account;
}

/** Runs the alarm of an account's ledger, if it is due. */
async function ring(account: string): Promise<void> {
  const alarmAt = await alarmOf(account);
  if (alarmAt !== null && alarmAt <= Date.now()) await runDurableObjectAlarm(accountStub(account));
}

function alarmOf(account: string): Promise<number | null> {
  return runInDurableObject(accountStub(account), (_, { storage }) => storage.getAlarm());
}

function adjust(account: string, amount: number): Promise<Response> {
  const reference = crypto.randomUUID();
  return post(`/v1/accounts/${account}/adjustments`, { reference, amount, reason: "x" });
}

it("the operator gets account.low_balance once when the balance of an account falls below its low_balance, with both numbers, and the next alarm compacts the ledger again", async () => {
  const outside = receivers(200);
  const account = await anAccountWith(100, { low_balance: 50 });
  await aCharged(account, 50);
  await ring(account);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  await aCharged(account, 1);
  await ring(account);
  await aCharged(account, 2);
  await ring(account);
  const data = { account, balance: 49, low_balance: 50 };
  expect(await operatorEvents(outside)).toEqual([
    { type: "account.low_balance", timestamp: START_S, data },
  ]);
  expect(await alarmOf(account)).toBe(START + 28 * DAY_MS);
});

it.each([
  ["a grant", (account: string) => grant(account, 10)],
  ["an adjustment", (account: string) => adjust(account, 10)],
  ["a refund", (_: string, charged: string) => finish(aFailure(charged))],
])(
  "after %s has raised the balance to low_balance again, the next fall is told again, as another event",
  async (_, raise) => {
    const outside = receivers(200);
    const account = await anAccountWith(50, { low_balance: 50 });
    const charged = await aCharged(account, 10);
    await ring(account);
    pass(1_000);
    await raise(account, charged);
    await adjust(account, -1);
    await ring(account);
    const events = await operatorEvents(outside);
    expect(events.map(({ data }) => data["balance"])).toEqual([40, 49]);
    expect(new Set(outside.sentTo(OPERATOR_URL).map(idOf)).size).toBe(2);
  },
);

it("the operator gets account.low_balance at once when low_balance is set above the balance, and not again when it is raised further", async () => {
  const outside = receivers(200);
  const account = await anAccountWith(40, { low_balance: 50 });
  for (const low_balance of [50, 60]) {
    await ring(account);
    await change(account, { low_balance });
  }
  await ring(account);
  expect(await operatorEvents(outside)).toMatchObject([{ data: { balance: 40, low_balance: 50 } }]);
});

it("account.low_balance is sent again with the same id while the operator's receiver fails, at most ten times", async () => {
  const outside = receivers(200, 500);
  const account = await anAccountWith(10, { low_balance: 10 });
  await aCharged(account, 1);
  for (let tries = 0; tries < 12; tries++) {
    await ring(account);
    const alarmAt = (await alarmOf(account)) ?? Infinity;
    if (alarmAt < START + DAY_MS) pass(Math.max(0, alarmAt - Date.now()));
  }
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(10);
  expect(new Set(outside.sentTo(OPERATOR_URL).map(idOf)).size).toBe(1);
  expect(await alarmOf(account)).toBe(Date.now() + 28 * DAY_MS);
  await until(() => outside.sentTo(OPERATOR_URL).length === 10);
});

it.each([
  ["without OPERATOR_CALLBACK_URL", {}],
  ["when OPERATOR_EVENTS leaves it out", { ...OPERATOR_BINDINGS, OPERATOR_EVENTS: "index.full" }],
])("%s, account.low_balance is not stored and sets no alarm", async (_, bindings) => {
  const outside = receivers(200);
  const account = await anAccountWith(10, { low_balance: 10 }, bindings);
  await aCharged(account, 1);
  expect(await alarmOf(account)).toBe(START + 28 * DAY_MS);
  const keys = await runInDurableObject(accountStub(account), (_instance, { storage }) =>
    Array.from(storage.kv.list(), ([key]) => key),
  );
  expect(keys).not.toContain("low_balance_notice");
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  expect((await call(`/v1/accounts/${account}`)).status).toBe(200);
});
