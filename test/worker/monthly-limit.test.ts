import { expect, it } from "vitest";
import * as z from "zod";
import { SMALL_BODY_BYTES } from "../../src/api/submit/body-budget.ts";
import {
  accountStub,
  aCharged,
  aKey,
  anAccount,
  balanceOf,
  booksOf,
  change,
  priced,
} from "./accounts.ts";
import { call, post, ProblemBody } from "./client.ts";
import { pass, START, useClock } from "./clock.ts";
import { aReceiver } from "./receiver.ts";
import { anArk, BINDINGS, BODY, submit } from "./submitted.ts";
import { aCompletion, aFailure, finish } from "./tasks.ts";

useClock();

/** Time from the start of the clock to the last millisecond of its month. */
const TO_LAST_MS = Date.UTC(2050, 1, 1) - 1 - START;

/** Length of a text with which a body is not read before the credits of the account are looked at. */
const LARGE = 2 * SMALL_BODY_BYTES;

async function anAccountWithLimit(credits: number, limit: number): Promise<string> {
  const account = await anAccount(credits);
  await change(account, { monthly_limit: limit });
  return account;
}

async function spentBy(account: string): Promise<number> {
  const body = await (await call(`/v1/accounts/${account}`)).json();
  return z.looseObject({ spent_this_month: z.int() }).parse(body).spent_this_month;
}

async function statusOf(account: string, credits: number): Promise<number> {
  return (await post("/v1/tasks", priced(account, credits))).status;
}

it("a task whose price would exceed the monthly limit gets 402 monthly_limit with the numbers, and is not charged; one up to the limit is", async () => {
  const account = await anAccountWithLimit(100, 10);
  await aCharged(account, 4);
  const body = priced(account, 7);
  const response = await post("/v1/tasks", body);
  expect(response.status).toBe(402);
  const numbers = { price: 7, monthly_limit: 10, spent_this_month: 4 };
  expect(ProblemBody.parse(await response.json())).toMatchObject({
    code: "monthly_limit",
    ...numbers,
  });
  expect((await call(`/v1/tasks/${body.id}`)).status).toBe(404);
  await aCharged(account, 6);
  expect(await booksOf(account)).toEqual(["grant 100", "charge 4", "charge 6"]);
  expect(await spentBy(account)).toBe(10);
});

it("a charge that is above both the balance and the monthly limit is refused for the balance", async () => {
  const account = await anAccountWithLimit(3, 2);
  const response = await post("/v1/tasks", priced(account, 4));
  expect(await response.json()).toMatchObject({
    code: "insufficient_credits",
    balance: 3,
    price: 4,
  });
});

it("a new month in UTC begins with its first millisecond: until then the limit of the old one holds", async () => {
  const account = await anAccountWithLimit(100, 10);
  await aCharged(account, 10);
  pass(TO_LAST_MS);
  expect(await statusOf(account, 1)).toBe(402);
  expect(await spentBy(account)).toBe(10);
  pass(1);
  expect(await spentBy(account)).toBe(0);
  expect(await statusOf(account, 10)).toBe(201);
  expect(await statusOf(account, 1)).toBe(402);
});

it("a refund gives room in the month of its charge, and none in the next month", async () => {
  aReceiver();
  const account = await anAccountWithLimit(100, 10);
  const [early, late] = [await aCharged(account, 6), await aCharged(account, 4)];
  await finish(aFailure(early));
  expect(await spentBy(account)).toBe(4);
  await aCharged(account, 6);
  pass(TO_LAST_MS + 1);
  await aCharged(account, 10);
  await finish(aFailure(late));
  expect(await spentBy(account)).toBe(10);
  expect(await statusOf(account, 1)).toBe(402);
  expect(await balanceOf(account)).toBe(84);
});

it("a price by usage counts with its hold until the task is completed, and then with its final price", async () => {
  aReceiver();
  const account = await anAccountWithLimit(100, 10);
  const price = { hold: 10, per: { usage: "n", units: 1, credits: 1 } };
  const body = { ...priced(account, 1), credits: undefined, price };
  expect((await post("/v1/tasks", body)).status).toBe(201);
  expect(await statusOf(account, 1)).toBe(402);
  await finish(aCompletion(body.id, { usage: { n: 7 } }));
  expect(await spentBy(account)).toBe(7);
  expect(await statusOf(account, 3)).toBe(201);
});

it("of 40 tasks that are registered at once, exactly as many are accepted as the monthly limit permits", async () => {
  const account = await anAccountWithLimit(1_000, 32);
  const bodies = Array.from({ length: 40 }, () => priced(account, 3));
  const statuses = await Promise.all(
    bodies.map(async (body) => (await post("/v1/tasks", body)).status),
  );
  expect(statuses.filter((status) => status === 201)).toHaveLength(10);
  expect(statuses.filter((status) => status === 402)).toHaveLength(30);
  expect(await spentBy(account)).toBe(30);
});

it("a charge that is ordered again counts once, also when the limit is reached or lowered since; a refused one stays refused when the limit is raised", async () => {
  const account = await anAccountWithLimit(100, 4);
  const ledger = accountStub(account);
  const order = { reference: "a", amount: 4 };
  const until = Date.now() + 2_000;
  const task = crypto.randomUUID();
  for (const limit of [4, 0]) {
    await change(account, { monthly_limit: limit });
    expect(await ledger.charge(order, task, until, null, "m")).toMatchObject({ kind: "charged" });
  }
  const other = { reference: "b", amount: 1 };
  const refused = await ledger.charge(other, task, until, null, "m");
  expect(refused).toEqual({
    kind: "insufficient",
    balance: 96,
    price: 1,
    month: { limit: 0, spent: 4 },
  });
  await change(account, {});
  expect(await ledger.charge(other, task, until, null, "m")).toEqual(refused);
  expect(await spentBy(account)).toBe(4);
});

it("grants and adjustments neither use the monthly limit nor give room in it", async () => {
  const account = await anAccountWithLimit(100, 10);
  await aCharged(account, 10);
  const path = `/v1/accounts/${account}/adjustments`;
  for (const amount of [50, -60]) {
    await post(path, { reference: `r${amount}`, amount, reason: "x" });
    expect(await spentBy(account)).toBe(10);
  }
});

it("a limit that is set in the middle of a month counts what was charged before it", async () => {
  const account = await anAccount(100);
  await aCharged(account, 8);
  await change(account, { monthly_limit: 10 });
  expect(await statusOf(account, 3)).toBe(402);
  expect(await statusOf(account, 2)).toBe(201);
});

it("a submission above the monthly limit gets 402 monthly_limit, and nothing is sent, also when its body is large", async () => {
  const OFFERS = JSON.stringify([{ connection: "ark", models: ["*"], price: { credits: 6 } }]);
  const bindings = { ...BINDINGS, OFFERS };
  const account = await anAccountWithLimit(100, 5);
  const { key } = await aKey(account);
  const outside = anArk();
  for (const body of [BODY, BODY.replace("a fox", "x".repeat(LARGE))]) {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const response = await submit({ bindings, key, headers, body });
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({ code: "monthly_limit", price: 6 });
  }
  expect(outside.sentTo("https://")).toEqual([]);
  expect(await booksOf(account)).toEqual(["grant 100"]);
});
