import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { expect, it } from "vitest";
import * as z from "zod";
import { aCharged, anAccount, booksOf, priced } from "./accounts.ts";
import type { Sent } from "./outside.ts";
import { type Answer, aReceiver, never, refused, requestAt, status } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import { callWith, post } from "./client.ts";
import { START_S, until, useClock } from "./clock.ts";
import { NOTHING, restart, stored, untilIdle, wake } from "./objects.ts";
import { aCompletion, aFailure, CALLBACK_URL, cancel, read, report, taskOf } from "./tasks.ts";

useClock();

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

const fail = (id: string) => report(aFailure(id));

/** Waits until the next try is due in this many seconds. */
function untilDueIn(id: string, seconds: number): Promise<void> {
  return until(async () => (await stored(id)).alarm === Date.now() + seconds * 1000);
}

const urls = (received: readonly Sent[]) => received.map(({ url }) => url);

it("a failed task is settled by one signed POST to SETTLEMENT_URL before its callback", async () => {
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
])("a refund is repeated after 5 s when SETTLEMENT_URL %s", async (_, answer) => {
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

it("a refund is retried when SETTLEMENT_URL does not answer within CALLBACK_TIMEOUT_S", async () => {
  const received = aReceiver(never, status(200));
  const id = await billed(await anAccount());
  await restart(id, { ...BILLING, CALLBACK_TIMEOUT_S: "1" });
  await report(aFailure(id));
  await untilDueIn(id, 5);
  expect(urls(received)).toEqual([BILLING_URL]);
});

it("a refund order to SETTLEMENT_URL names a cancellation or a deadline as its reason", async () => {
  const received = aReceiver();
  const canceled = await billed(await anAccount(), { callback_url: null });
  await cancel(canceled);
  await until(() => received.length === 1);
  const late = await billed(await anAccount(), { callback_url: null });
  await wake(late, 72 * 3_600_000);
  const reasons = received.map(({ body }) =>
    z.object({ reason: z.string() }).parse(JSON.parse(body)),
  );
  expect(reasons).toEqual([{ reason: "canceled" }, { reason: "upstream_timeout" }]);
});

it("a relay with SETTLEMENT_URL never settles a completed task", async () => {
  const received = aReceiver();
  const id = await billed(await anAccount());
  await report(aCompletion(id));
  await untilIdle(id);
  expect(urls(received)).toEqual([CALLBACK_URL]);
  expect(await read(id)).toMatchObject({ credits: { state: "charged" } });
});

it("a relay with SETTLEMENT_URL does not settle a failed task without credits", async () => {
  const received = aReceiver();
  const body = { ...priced(await anAccount(), 1), credits: null };
  const { id } = body;
  await restart(id, BILLING);
  await post("/v1/tasks", body);
  await fail(id);
  await untilIdle(id);
  expect(urls(received)).toEqual([CALLBACK_URL]);
});

it("a relay with SETTLEMENT_URL refunds a task in the ledger that charged it before SETTLEMENT_URL was set", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await restart(id, BILLING);
  await fail(id);
  await until(() => received.length > 0);
  expect(urls(received)).toEqual([CALLBACK_URL]);
  expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "refund 4"]);
});

it("a relay with SETTLEMENT_URL answers 404 to an unknown account and stores nothing", async () => {
  const body = priced(crypto.randomUUID(), 4);
  const response = await callWith(BILLING, "/v1/tasks", { body });
  expect(response.status).toBe(404);
  expect(await stored(body.id)).toEqual(NOTHING);
});
