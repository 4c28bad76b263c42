import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
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
import { aRequest, call, post, refusal, UNKNOWN_TASK } from "./client.ts";
import { pass, START, until, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored, wake } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, cancel, erase, redeliver, report } from "./tasks.ts";

useClock();

const UNAVAILABLE = { status: 503, code: "unavailable" };
const CHARGED = ["grant 10", "charge 4"];

async function expectUnavailable(response: Response): Promise<void> {
  expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
  expect(await refusal(response)).toEqual(UNAVAILABLE);
}

/** Registers a task whose charge the ledger does not answer until `heal` is called. */
async function charging(credits: number) {
  const account = await anAccount(credits);
  const body = priced(account, 4);
  const heal = await breakLedger(account);
  await expectUnavailable(await post("/v1/tasks", body));
  return { account, body, heal };
}

it("when the ledger does not answer the charge of a registration, the registration gets 503 with Retry-After, and the task's alarm charges after 5 s", async () => {
  const { account, body, heal } = await charging(10);
  expect((await stored(body.id)).alarm).toBe(START + 5000);
  heal();
  await wake(body.id, 5000);
  const credits = { amount: 4, state: "charged" };
  const task = await (await call(`/v1/tasks/${body.id}`)).json();
  expect(task).toMatchObject({ status: "pending", account, credits });
  expect((await post("/v1/tasks", body)).status).toBe(200);
  expect(await booksOf(account)).toEqual(CHARGED);
});

it("when the ledger does not answer a task's first charge and refuses the second, the task is erased, and registering it again gets 402", async () => {
  const { account, body, heal } = await charging(3);
  heal();
  await wake(body.id, 5000);
  expect(await stored(body.id)).toEqual(NOTHING);
  expect((await post("/v1/tasks", body)).status).toBe(402);
  await grant(account, 1);
  expect((await post("/v1/tasks", body)).status).toBe(201);
  expect(await balanceOf(account)).toBe(0);
});

it("while a task's charge has not been answered by the ledger, reading, erasing, canceling or redelivering the task gets 404, and events about it 503", async () => {
  aReceiver();
  const { account, body, heal } = await charging(10);
  await expectUnchanged(body.id, async () => {
    for (const response of [
      await call(`/v1/tasks/${body.id}`),
      await erase(body.id),
      await cancel(body.id),
      await redeliver(body.id),
    ]) {
      expect(await refusal(response)).toEqual(UNKNOWN_TASK);
    }
    for (const event of [
      aCompletion(body.id),
      aCompletion(body.id, { model: "m" }),
      { id: body.id, status: "processing" },
    ]) {
      await expectUnavailable(await report(event));
    }
  });
  heal();
  await wake(body.id, 5000);
  expect((await report(aCompletion(body.id))).status).toBe(202);
  expect(await balanceOf(account)).toBe(6);
});

it("a registration gets 503 when its id is that of a task whose charge the ledger has not answered yet", async () => {
  const { account, body, heal } = await charging(10);
  await expectUnchanged(body.id, async () => {
    for (const again of [body, { ...body, credits: 5 }, { ...body, model: "other" }]) {
      await expectUnavailable(await post("/v1/tasks", again));
    }
  });
  heal();
  pass(5000);
  // A registration makes the charge at once when its next try is due.
  expect((await post("/v1/tasks", body)).status).toBe(200);
  expect(await booksOf(account)).toEqual(CHARGED);
});

it("when the ledger is too slow, a registration gets 503, and a charge that the ledger books afterwards is booked only once", async () => {
  const account = await anAccount(10);
  const body = priced(account, 4);
  // The ledger answers only after the relay's answer, so the registration cannot have waited for it.
  const release = await holdLedger(account);
  await expectUnavailable(await post("/v1/tasks", body));
  await release();
  await until(async () => (await balanceOf(account)) === 6);
  expect((await call(`/v1/tasks/${body.id}`)).status).toBe(404);
  await wake(body.id, 5000);
  expect((await call(`/v1/tasks/${body.id}`)).status).toBe(200);
  expect(await booksOf(account)).toEqual(CHARGED);
});

it("when the ledger answers a refund only after the timeout, the failed task's callback waits until the refund is known, and there is one refund", async () => {
  const received = aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  const release = await holdLedger(account);
  await cancel(id);
  await until(async () => (await stored(id)).alarm === START + 5000);
  await release();
  await until(async () => (await balanceOf(account)) === 10);
  expect(received).toEqual([]);
  await wake(id, 5000);
  expect(received).toHaveLength(1);
  expect(await booksOf(account)).toEqual([...CHARGED, "refund 4"]);
});

it("a caller who disconnects during the charge of a registration and repeats the request finds the task, charged once", async () => {
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
  expect(await booksOf(account)).toEqual(CHARGED);
});
