import { expect, it, vi } from "vitest";
import * as z from "zod";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { accountStub, aCharged, anAccount, breakLedger, priced } from "../worker/accounts.ts";
import { call, post, refusal } from "../worker/client.ts";
import { pass, useClock } from "../worker/clock.ts";
import { stored } from "../worker/objects.ts";
import { aReceiver } from "../worker/receiver.ts";
import { aCompletion, aFailure, cancel, erase, finish } from "../worker/tasks.ts";
import { indexed } from "./support.ts";

useClock();

function remove(account: string, query = ""): Promise<Response> {
  return call(`/v1/accounts/${account}${query}`, { method: "DELETE" });
}

const Charging = z.object({
  status: z.literal("charging"),
  credits: z.object({ chargeId: z.string() }),
});
const TASK_OPEN = { status: 409, code: "task_open" };
const MINUTE_MS = 60_000;

async function isListed(account: string): Promise<boolean> {
  return (await (await call("/v1/accounts?limit=200")).text()).includes(account);
}

it("while the index lists an open task of an account, DELETE /v1/accounts/{account} answers 409 with the id of this task", async () => {
  aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await indexed(id);
  const response = await remove(account);
  expect(await response.clone().json()).toMatchObject({ detail: expect.stringContaining(id) });
  expect(await refusal(response)).toEqual(TASK_OPEN);
  expect(await isListed(account)).toBe(true);
  await finish(aFailure(id));
  await indexed(id);
  expect((await remove(account)).status).toBe(202);
  expect(await isListed(account)).toBe(false);
});

it("DELETE /v1/accounts/{account}?force=true deletes an account that has an open task; a repetition without ?force=true is answered 202, too", async () => {
  const account = await anAccount(10);
  await indexed(await aCharged(account, 4));
  expect((await remove(account, "?force=true")).status).toBe(202);
  expect((await remove(account)).status).toBe(202);
});

it("DELETE /v1/accounts/{account} answers 202 although other accounts have open tasks, and although there are open tasks without an account", async () => {
  const [account, other] = [await anAccount(), await anAccount(1)];
  await indexed(await aCharged(other, 1));
  const { id } = await (await post("/v1/tasks", { model: "m" })).json<{ id: string }>();
  await indexed(id);
  expect((await remove(account)).status).toBe(202);
});

it.each([
  ["right after the charge", 0],
  ["nine minutes after the charge", 9 * MINUTE_MS],
])(
  "when the index lacks an open task that was charged to the account, DELETE /v1/accounts/{account} answers 409 with the task's id %s",
  async (_, ms) => {
    aReceiver();
    const account = await anAccount(10);
    const id = await aCharged(account, 4);
    pass(ms);
    const response = await remove(account);
    expect(await response.clone().json()).toMatchObject({ detail: expect.stringContaining(id) });
    expect(await refusal(response)).toEqual(TASK_OPEN);
    await cancel(id);
    expect((await remove(account)).status).toBe(202);
  },
);

it("while a new task does not know yet that its price was charged to the account, DELETE /v1/accounts/{account} answers 409", async () => {
  const account = await anAccount(10);
  const body = priced(account, 4);
  const heal = await breakLedger(account);
  expect((await post("/v1/tasks", body)).status).toBe(503);
  heal();
  const { credits } = Charging.parse((await stored(body.id)).record);
  const order = { reference: credits.chargeId, amount: 4 };
  await accountStub(account).charge(order, body.id, Date.now(), null, "m");
  expect(await refusal(await remove(account))).toEqual(TASK_OPEN);
});

it("DELETE /v1/accounts/{account} answers 202 just after charged tasks have completed, failed or been erased", async () => {
  aReceiver();
  const account = await anAccount(10);
  await finish(aCompletion(await aCharged(account, 4)));
  await finish(aFailure(await aCharged(account, 4)));
  const erased = await aCharged(account, 4);
  await finish(aCompletion(erased));
  await erase(erased);
  expect((await remove(account)).status).toBe(202);
});

it("DELETE /v1/accounts/{account} answers 409 when more than 20 tasks were charged in the last 10 minutes, without a request to these tasks", async () => {
  aReceiver();
  const account = await anAccount(21);
  for (let count = 0; count < 21; count++) await finish(aCompletion(await aCharged(account, 1)));
  const asked = vi.spyOn(TaskObject.prototype, "isOpen");
  expect(await refusal(await remove(account))).toEqual(TASK_OPEN);
  expect(asked).not.toHaveBeenCalled();
  pass(10 * MINUTE_MS + 1);
  expect((await remove(account)).status).toBe(202);
});
