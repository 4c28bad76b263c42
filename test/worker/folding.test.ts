import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import {
  accountStub,
  aCharged,
  aKey,
  anAccount,
  balanceOf,
  booksOf,
  entriesOf,
  grant,
  priced,
} from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { call, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { stubOf, untilIdle } from "./objects.ts";
import { aFailure, read } from "./tasks.ts";

useClock();

const DAY = 86_400_000;

async function fold(account: string): Promise<void> {
  expect(await runDurableObjectAlarm(accountStub(account))).toBe(true);
}

function alarmOf(account: string): Promise<number | null> {
  return runInDurableObject(accountStub(account), (_, { storage }) => storage.getAlarm());
}

describe("entries older than 400 days", () => {
  it("fold into one opening entry with their balance; younger ones stay", async () => {
    aReceiver();
    const account = await anAccount(10);
    const failed = await aCharged(account, 4);
    await post("/v1/events", aFailure(failed));
    await untilIdle(failed);
    await aCharged(account, 3);
    pass(10 * DAY);
    const young = await aCharged(account, 2);
    const [newest] = await entriesOf(account);
    pass(391 * DAY);
    await grant(account, 5);
    expect(await booksOf(account)).toHaveLength(6);
    await fold(account);
    expect(await booksOf(account)).toEqual(["opening 7", "charge 2", "grant 5"]);
    const [, charge, opening] = await entriesOf(account);
    expect(charge).toEqual(newest);
    expect(charge).toMatchObject({ task_id: young, balance: 5 });
    expect(opening).toMatchObject({ kind: "opening", balance: 7, created_at: START_S });
    expect(await balanceOf(account)).toBe(10);
  });

  it("fold again later, into one opening entry still", async () => {
    const account = await anAccount(10);
    for (let year = 0; year < 3; year++) {
      pass(401 * DAY);
      await fold(account);
      await grant(account, 1);
      await fold(account);
    }
    expect(await booksOf(account)).toEqual(["opening 12", "grant 1"]);
    pass(401 * DAY);
    await fold(account);
    expect(await booksOf(account)).toEqual(["opening 13"]);
    expect(await balanceOf(account)).toBe(13);
  });

  it("are those, to the millisecond", async () => {
    const account = await anAccount(10);
    pass(400 * DAY);
    await fold(account);
    expect(await booksOf(account)).toEqual(["grant 10"]);
    pass(1);
    await fold(account);
    expect(await booksOf(account)).toEqual(["opening 10"]);
  });

  it("fold to nothing spendable when nothing was left", async () => {
    const account = await anAccount(10);
    await aCharged(account, 10);
    pass(401 * DAY);
    await fold(account);
    expect(await booksOf(account)).toEqual(["opening 0"]);
    expect((await post("/v1/tasks", priced(account, 1))).status).toBe(402);
  });

  it("take no keys with them", async () => {
    const account = await anAccount(10);
    const { key } = await aKey(account);
    pass(401 * DAY);
    await fold(account);
    expect((await call(`/v1/accounts/${account}`, { key })).status).toBe(200);
  });

  it("do not disturb the pages of a reader", async () => {
    const account = await anAccount(1);
    pass(401 * DAY);
    for (let amount = 2; amount <= 4; amount++) await grant(account, amount);
    const path = `/v1/accounts/${account}/entries?limit=2`;
    const text = await (await call(path)).text();
    const cursor = /"next_cursor":"(\d+)"/.exec(text)?.[1] ?? "";
    await fold(account);
    const rest = await (await call(`${path}&cursor=${cursor}`)).json();
    expect(rest).toMatchObject({
      data: [
        { kind: "grant", amount: 2 },
        { kind: "opening", amount: 1 },
      ],
      next_cursor: null,
    });
  });
});

describe("the alarm of an account", () => {
  it("is armed again every 28 days, in any instance, though there is nothing to fold", async () => {
    const account = await anAccount(10);
    for (let count = 0; count < 3; count++) {
      expect(await alarmOf(account)).toBe(Date.now() + 28 * DAY);
      pass(28 * DAY);
      await evictDurableObject(accountStub(account));
      await fold(account);
    }
    expect(await booksOf(account)).toEqual(["grant 10"]);
  });
});

describe("a charge that may still have to be refunded", () => {
  it("is never folded: it is refunded at the latest deadline", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const deadline_at = START_S + (365 * DAY) / 1000;
    const id = await aCharged(account, 4, { deadline_at });
    pass(365 * DAY);
    await fold(account);
    await runDurableObjectAlarm(stubOf(id));
    expect(await read(id)).toMatchObject({ credits: { state: "refunded" } });
    expect(received).toHaveLength(1);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "refund 4"]);
  });

  it("has no task that may end later than that", async () => {
    const account = await anAccount(10);
    const deadline_at = START_S + (366 * DAY) / 1000;
    const response = await post("/v1/tasks", priced(account, 4, { deadline_at }));
    expect(await refusal(response)).toMatchObject({ status: 400, paths: ["/deadline_at"] });
    expect(await balanceOf(account)).toBe(10);
  });
});
