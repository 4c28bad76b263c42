import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import {
  accountStub,
  aCharged,
  anAccount,
  balanceOf,
  booksOf,
  entriesOf,
  grant,
  priced,
} from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { call, post, refusal } from "./client.ts";
import { DAY_MS, pass, START_S, useClock } from "./clock.ts";
import { wake } from "./objects.ts";
import { aFailure, finish, read } from "./tasks.ts";

useClock();

/** Age up to which entries are kept: a task may be open for 365 days and a quarter, and then stored for 28. */
const AGE_DAYS = 365 * 1.25 + 28;

/** Runs the alarm of an account, which compacts its ledger. */
async function compact(account: string): Promise<void> {
  expect(await runDurableObjectAlarm(accountStub(account))).toBe(true);
}

it("compaction of an account's ledger replaces old entries by one opening entry with the balance after them, and keeps later entries", async () => {
  aReceiver();
  const account = await anAccount(10);
  await finish(aFailure(await aCharged(account, 4)));
  await aCharged(account, 3);
  pass(10 * DAY_MS);
  await aCharged(account, 2);
  const [young] = await entriesOf(account);
  pass((AGE_DAYS - 9) * DAY_MS);
  await grant(account, 5);
  expect(await booksOf(account)).toHaveLength(6);
  await compact(account);
  expect(await booksOf(account)).toEqual(["opening 7", "charge 2", "grant 5"]);
  const [, charge, opening] = await entriesOf(account);
  expect(charge).toEqual(young);
  const of = { kind: "opening", reference: "opening", created_at: START_S };
  expect(opening).toEqual({ ...of, amount: 7, balance: 7 });
  expect(await balanceOf(account)).toBe(10);
});

it("an account's ledger that is compacted several times still has a single opening entry", async () => {
  const account = await anAccount(10);
  for (let year = 0; year < 3; year++) {
    pass((AGE_DAYS + 1) * DAY_MS);
    await compact(account);
    await grant(account, 1);
    await compact(account);
  }
  expect(await booksOf(account)).toEqual(["opening 12", "grant 1"]);
  pass((AGE_DAYS + 1) * DAY_MS);
  await compact(account);
  expect(await booksOf(account)).toEqual(["opening 13"]);
  expect(await balanceOf(account)).toBe(13);
});

it("compaction of a ledger replaces an entry only once no refund of it can be due any more", async () => {
  const account = await anAccount(10);
  pass(AGE_DAYS * DAY_MS);
  await compact(account);
  expect(await booksOf(account)).toEqual(["grant 10"]);
  pass(1);
  await compact(account);
  expect(await booksOf(account)).toEqual(["opening 10"]);
});

it("when all credits are spent, compaction of a ledger leaves an opening entry of zero credits", async () => {
  const account = await anAccount(10);
  await aCharged(account, 10);
  pass((AGE_DAYS + 1) * DAY_MS);
  await compact(account);
  expect(await booksOf(account)).toEqual(["opening 0"]);
  expect((await post("/v1/tasks", priced(account, 1))).status).toBe(402);
});

it("when a ledger is compacted between the requests for two pages of its entries, no entry is skipped or listed twice", async () => {
  const account = await anAccount(1);
  pass((AGE_DAYS + 1) * DAY_MS);
  for (let amount = 2; amount <= 4; amount++) await grant(account, amount);
  const path = `/v1/accounts/${account}/entries?limit=2`;
  const cursor = /"next_cursor":"(\d+)"/.exec(await (await call(path)).text())?.[1] ?? "";
  await compact(account);
  expect(await (await call(`${path}&cursor=${cursor}`)).json()).toMatchObject({
    data: [
      { kind: "grant", amount: 2 },
      { kind: "opening", amount: 1 },
    ],
    next_cursor: null,
  });
});

it("compaction of a ledger never removes a charge that may still have to be refunded", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const deadline_at = START_S + (365 * DAY_MS) / 1000;
  const id = await aCharged(account, 4, { deadline_at });
  // At this time the task is nearly at the end of the time for which it can need its charge.
  pass(AGE_DAYS * DAY_MS);
  await compact(account);
  await wake(id);
  expect(await read(id)).toMatchObject({ credits: { state: "refunded" } });
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "refund 4"]);
  const later = { deadline_at: START_S + (3 * 366 * DAY_MS) / 1000 };
  const response = await post("/v1/tasks", priced(account, 4, later));
  expect(await refusal(response)).toMatchObject({ status: 400, paths: ["/deadline_at"] });
});

it("an account's Durable Object sets its alarm again every 28 days, even when it was evicted from memory in between", async () => {
  const account = await anAccount(10);
  const alarm = () =>
    runInDurableObject(accountStub(account), (_, { storage }) => storage.getAlarm());
  for (let count = 0; count < 3; count++) {
    expect(await alarm()).toBe(Date.now() + 28 * DAY_MS);
    pass(28 * DAY_MS);
    await evictDurableObject(accountStub(account));
    await compact(account);
  }
  expect(await booksOf(account)).toEqual(["grant 10"]);
});
