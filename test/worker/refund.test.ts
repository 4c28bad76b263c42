import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { aCharged, anAccount, booksOf, breakLedger, type Entry, entriesOf } from "./accounts.ts";
import { DAY_MS, START, START_S, until, useClock } from "./clock.ts";
import { evict, restart, stored, untilIdle, wake } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, aFailure, cancel, erase, finish, read, redeliver, report } from "./tasks.ts";

useClock();

const BOOKS = ["grant 10", "charge 4", "refund 4"];

const fail = (id: string) => report(aFailure(id));

/** Fails a charged task whose refund the ledger does not answer until `heal` is called. */
async function refunding() {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  const heal = await breakLedger(account);
  expect((await fail(id)).status).toBe(202);
  await until(async () => (await stored(id)).alarm === START + 5000);
  return { received, account, id, heal };
}

it.each<[string, (id: string) => Promise<unknown>]>([
  ["by an event", fail],
  ["by its deadline", (id) => wake(id, 3 * DAY_MS)],
  ["by being canceled", cancel],
  [
    "by an event while it is processing",
    (id) => report({ id, status: "processing" }).then(() => fail(id)),
  ],
])("%s is refunded once, before its callback is sent", async (_, end) => {
  const account = await anAccount(10);
  const books: (readonly Entry[])[] = [];
  const received = aReceiver(async () => {
    books.push(await entriesOf(account));
    return new Response(null, { status: 500 });
  });
  const id = await aCharged(account, 4);
  await end(id);
  await untilIdle(id);
  expect(received.map(({ headers }) => headers["x-event"])).toEqual(["task.failed"]);
  expect(books[0]?.[0]).toMatchObject({ kind: "refund", amount: 4, balance: 10, task_id: id });
  const credits = { amount: 4, state: "refunded" };
  expect(await read(id)).toMatchObject({ status: "failed", credits });
  await wake(id, 180_000);
  expect(books).toHaveLength(2);
  expect(await booksOf(account)).toEqual(BOOKS);
});

it("a failed task without callback_url is refunded", async () => {
  const account = await anAccount(10);
  const id = await aCharged(account, 4, { callback_url: null });
  await finish(aFailure(id));
  expect(await read(id)).toMatchObject({ callback: null, credits: { state: "refunded" } });
  expect(await booksOf(account)).toEqual(BOOKS);
});

it("a failed task is refunded while the relay is paused", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await restart(id, { ...env, PAUSED: "true" });
  await finish(aFailure(id));
  expect(await booksOf(account)).toEqual(BOOKS);
  expect(received).toEqual([]);
});

it("a failed task is refunded once despite later events, cancellations, redeliveries and evictions", async () => {
  const received = aReceiver(status(200));
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await Promise.all([fail(id), fail(id), report(aCompletion(id)), cancel(id)]);
  await untilIdle(id);
  for (let round = 0; round < 3; round++) {
    await evict(id);
    expect((await redeliver(id)).status).toBe(202);
    await untilIdle(id);
    await fail(id);
    await cancel(id);
    await wake(id);
  }
  expect(received.length).toBeGreaterThanOrEqual(4);
  expect(await booksOf(account)).toEqual(BOOKS);
});

it("a completed task keeps its charge when its callback fails and is redelivered", async () => {
  aReceiver(status(500), status(500), status(500), status(200));
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await finish(aCompletion(id));
  for (const wait of [180_000, 600_000]) await wake(id, wait);
  expect(await read(id)).toMatchObject({ callback: { status: "failed" } });
  await redeliver(id);
  await untilIdle(id);
  await fail(id);
  expect(await read(id)).toMatchObject({ credits: { state: "charged" } });
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
});

it("an unanswered refund delays the callback, shows refunding and is retried until it is booked", async () => {
  const { received, account, id, heal } = await refunding();
  const waits = [5, 10, 20, 40, 80, 160, 300, 300, 300];
  for (const [i, wait] of waits.entries()) {
    expect(await read(id)).toMatchObject({
      status: "failed",
      credits: { amount: 4, state: "refunding" },
      callback: { status: "sending", attempts: [] },
    });
    expect((await stored(id)).alarm).toBe(Date.now() + wait * 1000);
    expect(received).toEqual([]);
    if (i === waits.length - 1) heal();
    await wake(id, wait * 1000);
  }
  const waited = waits.reduce((sum, wait) => sum + wait, 0);
  expect(await read(id)).toMatchObject({
    credits: { state: "refunded" },
    callback: { status: "delivered", attempts: [{ number: 1, started_at: START_S + waited }] },
  });
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual(BOOKS);
});

it("an unanswered refund prevents erasure, redelivery and expiry, and is booked by a new instance", async () => {
  const { received, account, id, heal } = await refunding();
  expect([(await erase(id)).status, (await redeliver(id)).status]).toEqual([409, 409]);
  await wake(id, 40 * DAY_MS);
  expect(await read(id)).toMatchObject({ credits: { state: "refunding" } });
  await evict(id);
  heal();
  await wake(id, 300_000);
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual(BOOKS);
});
