import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { expect, it } from "vitest";
import {
  aCharged,
  anAccount,
  booksOf,
  breakLedger,
  entriesOf,
  type Entry,
  priced,
} from "./accounts.ts";
import { callWith } from "./client.ts";
import { START, START_S, until, useClock } from "./clock.ts";
import { evict, NOTHING, restart, stored, untilIdle, wake } from "./objects.ts";
import type { Sent } from "./outside.ts";
import { type Answer, aReceiver, never, refused, requestAt, status } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import { aFailure, CALLBACK_URL, erase, finish, read, redeliver, report, taskOf } from "./tasks.ts";

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

it("a failed task is refunded once, before the first attempt of its callback", async () => {
  const account = await anAccount(10);
  const books: (readonly Entry[])[] = [];
  const received = aReceiver(async () => {
    books.push(await entriesOf(account));
    return new Response(null, { status: 500 });
  });
  const id = await aCharged(account, 4);
  await finish(aFailure(id));
  expect(received.map(({ headers }) => headers["x-event"])).toEqual(["task.failed"]);
  expect(books[0]?.[0]).toMatchObject({ kind: "refund", amount: 4, balance: 10, task_id: id });
  const credits = { amount: 4, state: "refunded" };
  expect(await read(id)).toMatchObject({ status: "failed", credits });
  await wake(id, 180_000);
  expect(books).toHaveLength(2);
  expect(await booksOf(account)).toEqual(BOOKS);
});

it("a failed task is refunded even while the relay is paused", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await restart(id, { ...env, PAUSED: "true" });
  await finish(aFailure(id));
  expect(await booksOf(account)).toEqual(BOOKS);
  expect(received).toEqual([]);
});

it("until the ledger confirms a failed task's refund, the refund is tried again, even after evictions, the callback waits, and erasure and redelivery get 409", async () => {
  const { received, account, id, heal } = await refunding();
  const credits = { amount: 4, state: "refunding" };
  const callback = { status: "sending", attempts: [] };
  for (const wait of [5, 10]) {
    expect(await read(id)).toMatchObject({ status: "failed", credits, callback });
    expect([(await erase(id)).status, (await redeliver(id)).status]).toEqual([409, 409]);
    expect((await stored(id)).alarm).toBe(Date.now() + wait * 1000);
    expect(received).toEqual([]);
    if (wait === 10) heal();
    await evict(id);
    await wake(id, wait * 1000);
  }
  expect(await read(id)).toMatchObject({
    credits: { state: "refunded" },
    callback: { status: "delivered", attempts: [{ number: 1, started_at: START_S + 15 }] },
  });
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual(BOOKS);
});

const BILLING_URL = "https://billing.example.org/refunds?tenant=7";
const BILLING = { ...env, SETTLEMENT_URL: BILLING_URL };

/** Registers a priced task on a relay with SETTLEMENT_URL. */
async function billed(account: string, fields: object = {}): Promise<string> {
  const body = priced(account, 4, fields);
  await restart(body.id, BILLING);
  const response = await callWith(BILLING, "/v1/tasks", { body });
  expect(response.status).toBe(201);
  expect(await taskOf(response)).toMatchObject({ credits: { amount: 4, state: "charged" } });
  return body.id;
}

/** Waits until the next try is due in this many seconds. */
function untilDueIn(id: string, seconds: number): Promise<void> {
  return until(async () => (await stored(id)).alarm === Date.now() + seconds * 1000);
}

const urls = (received: readonly Sent[]) => received.map(({ url }) => url);

it("with SETTLEMENT_URL, a failed task is refunded by one signed POST to that URL before its callback is sent", async () => {
  const received = aReceiver();
  const account = await anAccount();
  const id = await billed(account);
  await fail(id);
  await until(() => received.length === 2);
  expect(urls(received)).toEqual([BILLING_URL, CALLBACK_URL]);
  const { method, redirect, headers, body } = requestAt(received, 0);
  expect([method, redirect]).toEqual(["POST", "manual"]);
  expect(JSON.parse(body)).toEqual({ task_id: id, account, credits: 4, reason: "moderation" });
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "webhook-id": `refund_${id}`,
    "webhook-timestamp": String(START_S),
  });
  const { callbacks, settlement } = await secretsOf(BILLING);
  expect(new Standard(settlement?.[0] ?? "").verify(body, headers)).toEqual(JSON.parse(body));
  // Receivers know the callback secret, and must not be able to order a refund with it.
  expect(() => new Standard(callbacks[0] ?? "").verify(body, headers)).toThrow("signature");
  await untilIdle(id);
  expect(await read(id)).toMatchObject({
    credits: { state: "refunded" },
    callback: { status: "delivered", attempts: [{ number: 1 }] },
  });
  expect(await booksOf(account)).toEqual([]);
});

it.each<[string, Answer]>([
  ["answers 500", status(500)],
  ["answers 409", status(409)],
  ["redirects", () => Response.redirect(CALLBACK_URL, 308)],
  ["is down", refused],
])("when SETTLEMENT_URL %s, the refund is repeated after 5 s", async (_, answer) => {
  const received = aReceiver(answer, status(200));
  const id = await billed(await anAccount());
  await fail(id);
  await untilDueIn(id, 5);
  expect(urls(received)).toEqual([BILLING_URL]);
  await wake(id, 5000);
  expect(urls(received)).toEqual([BILLING_URL, BILLING_URL, CALLBACK_URL]);
  const orders = received.slice(0, 2).map(({ headers, body }) => [headers["webhook-id"], body]);
  expect(orders).toEqual([orders[0], [`refund_${id}`, orders[0]?.[1]]]);
});

it("when SETTLEMENT_URL does not answer within CALLBACK_TIMEOUT_S, the refund is repeated", async () => {
  const received = aReceiver(never, status(200));
  const id = await billed(await anAccount());
  await restart(id, { ...BILLING, CALLBACK_TIMEOUT_S: "1" });
  await report(aFailure(id));
  await untilDueIn(id, 5);
  expect(urls(received)).toEqual([BILLING_URL]);
});

it("when SETTLEMENT_URL is set after the relay's own ledger has charged a task, the task is still refunded in that ledger", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await restart(id, BILLING);
  await fail(id);
  await until(() => received.length > 0);
  expect(urls(received)).toEqual([CALLBACK_URL]);
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "refund 4"]);
});

it("with SETTLEMENT_URL, a registration with a price whose account does not exist gets 404 and stores nothing", async () => {
  const body = priced(crypto.randomUUID(), 4);
  const response = await callWith(BILLING, "/v1/tasks", { body });
  expect(response.status).toBe(404);
  expect(await stored(body.id)).toEqual(NOTHING);
});
