import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import * as z from "zod";
import { accountStub, aCharged, aKey, anAccount, grant, priced } from "./accounts.ts";
import { call, invalid, post, refusal } from "./client.ts";
import { DAY_MS, pass, START, START_S, useClock } from "./clock.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, aFailure, finish } from "./tasks.ts";

useClock();

const DAY_S = 86_400;
/** Begin of the first day of the clock. */
const FIRST = Math.floor(START_S / DAY_S) * DAY_S;

const SPEND = {
  spent: z.int(),
  charged: z.int(),
  refunded: z.int(),
  released: z.int(),
  charges: z.int(),
  refunds: z.int(),
};
const Report = z.strictObject({
  since: z.int(),
  until: z.int(),
  ...SPEND,
  days: z.array(z.strictObject({ at: z.int(), balance: z.int(), ...SPEND })),
  models: z.array(z.strictObject({ model: z.nullable(z.string()), ...SPEND })),
});

async function spendOf(account: string, query = "", key?: string) {
  const path = `/v1/accounts/${account}/spend${query}`;
  const response = await call(path, key === undefined ? {} : { key });
  expect(response.status).toBe(200);
  return Report.parse(await response.json());
}

it("GET /v1/accounts/{account}/spend reports what an account has spent by day and by model, and the balance at the end of each day; what is given back counts on the day of its charge", async () => {
  aReceiver();
  const account = await anAccount(100);
  const failed = await aCharged(account, 10, { model: "a" });
  const price = { hold: 20, per: { usage: "n", units: 1, credits: 1 } };
  const used = { ...priced(account, 1, { model: "b" }), credits: undefined, price };
  await post("/v1/tasks", used);
  await finish(aCompletion(used.id, { usage: { n: 15 } }));
  pass(2 * DAY_MS);
  await finish(aFailure(failed));
  await aCharged(account, 3, { model: "a" });
  const nothing = { spent: 0, charged: 0, refunded: 0, released: 0, charges: 0, refunds: 0 };
  const first = { spent: 15, charged: 30, refunded: 10, released: 5, charges: 2, refunds: 1 };
  const last = { ...nothing, spent: 3, charged: 3, charges: 1 };
  const report = {
    since: FIRST,
    until: FIRST + 3 * DAY_S,
    spent: 18,
    charged: 33,
    refunded: 10,
    released: 5,
    charges: 3,
    refunds: 1,
    days: [
      { at: FIRST, balance: 75, ...first },
      { at: FIRST + DAY_S, balance: 75, ...nothing },
      { at: FIRST + 2 * DAY_S, balance: 82, ...last },
    ],
    models: [
      { model: "b", ...nothing, spent: 15, charged: 20, released: 5, charges: 1 },
      { model: "a", ...nothing, spent: 3, charged: 13, refunded: 10, charges: 2, refunds: 1 },
    ],
  };
  expect(await spendOf(account)).toEqual(report);
  const { key } = await aKey(account, "read");
  expect(await spendOf(account, "", key)).toEqual(report);
});

it("a window of the spend report has whole days, ends with today, and begins not before the account", async () => {
  pass(5 * DAY_MS);
  const account = await anAccount(10);
  await aCharged(account, 1);
  pass(40 * DAY_MS);
  await aCharged(account, 2);
  const today = FIRST + 45 * DAY_S;
  const all = await spendOf(account, `?since=${FIRST}&until=${today + 400 * DAY_S}`);
  expect([all.since, all.until, all.days.length]).toEqual([FIRST + 5 * DAY_S, today + DAY_S, 41]);
  expect(all.spent).toBe(3);
  const month = await spendOf(account);
  expect([month.since, month.spent, month.days.length]).toEqual([today - 29 * DAY_S, 2, 30]);
  const part = await spendOf(account, `?since=${FIRST + 5 * DAY_S + 7}&until=${today - 1}`);
  expect([part.since, part.until]).toEqual([FIRST + 5 * DAY_S, today]);
  expect([part.spent, part.days.at(-1)?.balance]).toEqual([1, 9]);
  const none = await spendOf(account, `?since=${FIRST - 10 * DAY_S}&until=${FIRST}`);
  expect(none).toMatchObject({ since: FIRST, until: FIRST, days: [], models: [] });
});

it.each([
  [`?since=${FIRST}&until=${FIRST}`, "/since"],
  [`?since=${FIRST - 367 * DAY_S}`, "/since"],
  [`?since=${START}`, "/since"],
])("the spend report refuses the window %s", async (query, path) => {
  const account = await anAccount(1);
  const response = await call(`/v1/accounts/${account}/spend${query}`);
  expect(await refusal(response)).toEqual(invalid(path));
});

it("an account sees no spend report but its own", async () => {
  const path = `/v1/accounts/${await anAccount(1)}/spend`;
  const { key } = await aKey(await anAccount());
  expect((await call(path, { key })).status).toBe(404);
  expect((await call("/v1/accounts/nobody/spend")).status).toBe(404);
});

it("the spend report counts a long ledger in several steps, each entry once", async () => {
  const account = await anAccount(1);
  await grant(account, 20_000);
  await runInDurableObject(accountStub(account), (_, { storage }) => {
    storage.sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO entries (kind, reference, amount, balance, month_spent, created_at, model)
      SELECT 'charge', 'old-' || i, 1, 20001 - i, i, ?1, 'old' FROM n`,
      START,
    );
  });
  await evictDurableObject(accountStub(account));
  for (let count = 0; count < 2; count++) {
    const { charges, spent, models, days } = await spendOf(account);
    expect([charges, spent, models.length]).toEqual([12_000, 12_000, 1]);
    expect([models[0]?.model, days[0]?.balance]).toEqual(["old", 8_001]);
  }
  await aCharged(account, 1, { model: "new" });
  expect(await spendOf(account)).toMatchObject({ charges: 12_001, spent: 12_001 });
});

it("the alarm of a ledger removes the days of which it has no entries any more", async () => {
  const account = await anAccount(10);
  await aCharged(account, 1);
  await spendOf(account);
  const rows = () =>
    runInDurableObject(
      accountStub(account),
      (_, { storage }) => storage.sql.exec("SELECT day FROM spend").toArray().length,
    );
  expect(await rows()).toBe(2);
  pass(500 * DAY_MS);
  await runDurableObjectAlarm(accountStub(account));
  expect(await rows()).toBe(0);
  const { days, spent } = await spendOf(account);
  expect([spent, days[0]?.balance, days.at(-1)?.balance]).toEqual([0, 9, 9]);
});
