import { runDurableObjectAlarm } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  aCharged,
  anAccount,
  balanceOf,
  booksOf,
  breakLedger,
  grant,
  holdLedger,
  priced,
} from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { aRequest, call, post, refusal } from "./client.ts";
import { pass, START, until, useClock } from "./clock.ts";
import { evict, NOTHING, stored, stubOf } from "./objects.ts";
import { aCompletion } from "./tasks.ts";

useClock();

const UNAVAILABLE = { status: 503, code: "unavailable" };
const UNKNOWN = { status: 404, code: "unknown_task" };

/** A registration whose charge the ledger does not answer. */
async function charging(credits: number) {
  const account = await anAccount(credits);
  const body = priced(account, 4);
  const heal = await breakLedger(account);
  const response = await post("/v1/tasks", body);
  expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
  expect(await refusal(response)).toEqual(UNAVAILABLE);
  return { account, body, heal };
}

async function wake(id: string, ms: number): Promise<void> {
  pass(ms);
  expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
}

describe("a charge that the ledger does not answer", () => {
  it("is answered by 503 and Retry-After, and the wake carries it to its end", async () => {
    const { account, body, heal } = await charging(10);
    expect((await stored(body.id)).alarm).toBe(START + 5000);
    heal();
    await wake(body.id, 5000);
    expect(await (await call(`/v1/tasks/${body.id}`)).json()).toMatchObject({
      status: "pending",
      account,
      credits: { amount: 4, state: "charged" },
    });
    expect((await post("/v1/tasks", body)).status).toBe(200);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("is ended by a wake that finds no credits: nothing remains, and the caller is told 402", async () => {
    const { account, body, heal } = await charging(3);
    heal();
    await wake(body.id, 5000);
    expect(await stored(body.id)).toEqual(NOTHING);
    expect((await post("/v1/tasks", body)).status).toBe(402);
    await grant(account, 1);
    expect((await post("/v1/tasks", body)).status).toBe(201);
    expect(await balanceOf(account)).toBe(0);
  });

  it("goes on in another instance, under the same charge", async () => {
    const { account, body, heal } = await charging(10);
    await evict(body.id);
    await wake(body.id, 5000);
    heal();
    await evict(body.id);
    await wake(body.id, 10_000);
    expect((await post("/v1/tasks", body)).status).toBe(200);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("is tried again 5 s, 10 s, 20 s … 5 min later, as long as it takes", async () => {
    const { account, body, heal } = await charging(10);
    for (const wait of [5, 10, 20, 40, 80, 160, 300, 300]) {
      expect((await stored(body.id)).alarm).toBe(Date.now() + wait * 1000);
      await wake(body.id, wait * 1000);
    }
    heal();
    await wake(body.id, 300_000);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });
});

describe("a task whose price is being charged", () => {
  it("does not exist for anyone: 404, and 503 with Retry-After to an event", async () => {
    aReceiver();
    const { account, body, heal } = await charging(10);
    const path = `/v1/tasks/${body.id}`;
    const before = await stored(body.id);
    for (const response of [
      await call(path),
      await call(path, { method: "DELETE" }),
      await post(`${path}/cancel`, ""),
      await post(`${path}/redeliver`, ""),
    ]) {
      expect(await refusal(response)).toEqual(UNKNOWN);
    }
    for (const event of [
      aCompletion(body.id),
      aCompletion(body.id, { model: "m" }),
      { id: body.id, status: "processing" },
    ]) {
      const response = await post("/v1/events", event);
      expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      expect(await refusal(response)).toEqual(UNAVAILABLE);
    }
    expect(await stored(body.id)).toEqual(before);
    heal();
    await wake(body.id, 5000);
    expect((await post("/v1/events", aCompletion(body.id))).status).toBe(202);
    expect(await balanceOf(account)).toBe(6);
  });

  it("is joined by the same registration, and closed to another: 503", async () => {
    const { account, body, heal } = await charging(10);
    const before = await stored(body.id);
    for (const again of [body, { ...body, credits: 5 }, { ...body, model: "other" }]) {
      expect(await refusal(await post("/v1/tasks", again))).toEqual(UNAVAILABLE);
    }
    expect(await stored(body.id)).toEqual(before);
    heal();
    await wake(body.id, 5000);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("is charged by the caller who asks again when the next try is due", async () => {
    const { account, body, heal } = await charging(10);
    heal();
    pass(5000);
    expect((await post("/v1/tasks", body)).status).toBe(200);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });
});

describe("a ledger that answers too late", () => {
  it("is not waited for beyond 2 s, and what it booked in the end counts once", async () => {
    const account = await anAccount(10);
    const body = priced(account, 4);
    const release = await holdLedger(account);
    const askedAt = performance.now();
    expect(await refusal(await post("/v1/tasks", body))).toEqual(UNAVAILABLE);
    expect(performance.now() - askedAt).toBeLessThan(4000);
    await release();
    await until(async () => (await balanceOf(account)) === 6);
    expect((await call(`/v1/tasks/${body.id}`)).status).toBe(404);
    await wake(body.id, 5000);
    expect((await call(`/v1/tasks/${body.id}`)).status).toBe(200);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });

  it("does not let the callback go before its answer is known, and refunds once", async () => {
    const received = aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    const release = await holdLedger(account);
    await post(`/v1/tasks/${id}/cancel`, "");
    await until(async () => (await stored(id)).alarm === START + 5000);
    await release();
    await until(async () => (await balanceOf(account)) === 10);
    expect(received).toEqual([]);
    await wake(id, 5000);
    expect(received).toHaveLength(1);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4", "refund 4"]);
  });
});

describe("a caller who leaves in mid-charge", () => {
  it("leaves a task behind that is charged once, and finds it by asking again", async () => {
    const account = await anAccount(10);
    const body = priced(account, 4);
    const release = await holdLedger(account);
    const leaving = new AbortController();
    const request = new Request(aRequest("/v1/tasks", { body }), { signal: leaving.signal });
    const asked = exports.default.fetch(request).catch(() => null);
    await until(async () => (await stored(body.id)).record !== undefined);
    leaving.abort();
    await release();
    await asked;
    await until(async () => (await call(`/v1/tasks/${body.id}`)).status === 200);
    expect((await post("/v1/tasks", body)).status).toBe(200);
    expect(await booksOf(account)).toEqual(["grant 10", "charge 4"]);
  });
});
