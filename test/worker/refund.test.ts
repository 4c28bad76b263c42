import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { aCharged, anAccount, booksOf, breakLedger, type Entry, entriesOf } from "./accounts.ts";
import { aReceiver, status } from "./receiver.ts";
import { call, post } from "./client.ts";
import { pass, START, START_S, until, useClock } from "./clock.ts";
import { evict, restart, stored, stubOf, untilIdle } from "./objects.ts";
import { aCompletion, aFailure, read } from "./tasks.ts";

useClock();

const BOOKS = ["grant 10", "charge 4", "refund 4"];

const fail = (id: string) => post("/v1/events", aFailure(id));
const cancel = (id: string) => post(`/v1/tasks/${id}/cancel`, "");

async function passDeadline(id: string): Promise<void> {
  pass(72 * 3_600_000);
  await runDurableObjectAlarm(stubOf(id));
}

describe("a charged task that fails", () => {
  it.each<[string, (id: string) => Promise<unknown>]>([
    ["by an event", fail],
    ["by its deadline", passDeadline],
    ["by being canceled", cancel],
    [
      "by an event after it has begun",
      (id) => post("/v1/events", { id, status: "processing" }).then(() => fail(id)),
    ],
  ])(
    "%s is refunded once, and the entry is readable before its callback arrives",
    async (_, end) => {
      const account = await anAccount(10);
      const books: (readonly Entry[])[] = [];
      const received = aReceiver(async () => {
        books.push(await entriesOf(account));
        return new Response(null, { status: 500 });
      });
      const id = await aCharged(account, 4);
      await end(id);
      await untilIdle(id);
      expect(received).toHaveLength(1);
      expect(received[0]?.headers["x-event"]).toBe("task.failed");
      expect(books[0]?.[0]).toMatchObject({ kind: "refund", amount: 4, balance: 10, task_id: id });
      expect(await read(id)).toMatchObject({
        status: "failed",
        credits: { amount: 4, state: "refunded" },
      });
      pass(180_000);
      await runDurableObjectAlarm(stubOf(id));
      expect(books).toHaveLength(2);
      expect(await booksOf(account)).toEqual(BOOKS);
    },
  );

  it("is refunded when it has no callback_url", async () => {
    const account = await anAccount(10);
    const id = await aCharged(account, 4, { callback_url: null });
    await fail(id);
    await untilIdle(id);
    expect(await read(id)).toMatchObject({ callback: null, credits: { state: "refunded" } });
    expect(await booksOf(account)).toEqual(BOOKS);
  });

  it("is refunded while callbacks are paused", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    await restart(id, { ...env, PAUSED: "true" });
    await fail(id);
    await untilIdle(id);
    expect(await booksOf(account)).toEqual(BOOKS);
    expect(received).toEqual([]);
  });

  it("is refunded once, whatever comes after: events, cancellations, redeliveries, evictions", async () => {
    const received = aReceiver(status(200));
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    await Promise.all([fail(id), fail(id), post("/v1/events", aCompletion(id)), cancel(id)]);
    await untilIdle(id);
    for (let round = 0; round < 3; round++) {
      await evict(id);
      expect((await post(`/v1/tasks/${id}/redeliver`, "")).status).toBe(202);
      await untilIdle(id);
      await fail(id);
      await cancel(id);
      await runDurableObjectAlarm(stubOf(id));
    }
    expect(received.length).toBeGreaterThanOrEqual(4);
    expect(await booksOf(account)).toEqual(BOOKS);
  });

  it("leaves the price of a completed task alone when it is sent again", async () => {
    aReceiver(status(500), status(500), status(500), status(200));
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    for (const wait of [180_000, 600_000]) {
      pass(wait);
      await runDurableObjectAlarm(stubOf(id));
    }
    expect(await read(id)).toMatchObject({ callback: { status: "failed" } });
    await post(`/v1/tasks/${id}/redeliver`, "");
    await untilIdle(id);
    await fail(id);
    expect(await read(id)).toMatchObject({ credits: { state: "charged" } });
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });
});

describe("a refund that the ledger does not answer", () => {
  it("holds the callback back, visibly, and is tried until it is booked", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    const heal = await breakLedger(account);
    expect((await fail(id)).status).toBe(202);
    const waits = [5, 10, 20, 40, 80, 160, 300, 300, 300];
    await tried(id, 5);
    for (const [i, wait] of waits.entries()) {
      expect(await read(id)).toMatchObject({
        status: "failed",
        credits: { amount: 4, state: "refunding" },
        callback: { status: "sending", attempts: [] },
      });
      const armed = (await stored(id)).alarm;
      expect(armed).toBe(Date.now() + wait * 1000);
      if (i === waits.length - 1) heal();
      pass(wait * 1000);
      await runDurableObjectAlarm(stubOf(id));
      if (i < waits.length - 1) expect(received).toEqual([]);
    }
    const waited = waits.reduce((sum, wait) => sum + wait, 0);
    expect(await read(id)).toMatchObject({
      credits: { state: "refunded" },
      callback: { status: "delivered", attempts: [{ number: 1, started_at: START_S + waited }] },
    });
    expect(received).toHaveLength(1);
    expect(await booksOf(account)).toEqual(BOOKS);
  });

  it("goes on in a new instance", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    const heal = await breakLedger(account);
    await fail(id);
    await tried(id, 5);
    await evict(id);
    heal();
    pass(5000);
    await runDurableObjectAlarm(stubOf(id));
    expect(received).toHaveLength(1);
    expect(await booksOf(account)).toEqual(BOOKS);
  });

  it("keeps the task from being erased or sent again", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    const heal = await breakLedger(account);
    await fail(id);
    await tried(id, 5);
    const erased = await call(`/v1/tasks/${id}`, { method: "DELETE" });
    const again = await post(`/v1/tasks/${id}/redeliver`, "");
    expect([erased.status, again.status]).toEqual([409, 409]);
    // Nor does retention end it.
    pass(40 * 86_400_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await read(id)).toMatchObject({ credits: { state: "refunding" } });
    heal();
    pass(300_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(received).toHaveLength(1);
    expect(await booksOf(account)).toEqual(BOOKS);
  });
});

/** Waits until the first try is over and the next is due in so many seconds. */
async function tried(id: string, seconds: number): Promise<void> {
  await until(async () => (await stored(id)).alarm === START + seconds * 1000);
}
