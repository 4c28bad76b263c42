import { expect, it } from "vitest";
import { anAccount, aCharged } from "../worker/accounts.ts";
import { call, post, refusal } from "../worker/client.ts";
import { useClock } from "../worker/clock.ts";
import { aReceiver } from "../worker/receiver.ts";
import { aFailure, finish } from "../worker/tasks.ts";
import { indexed } from "./support.ts";

useClock();

function remove(account: string, query = ""): Promise<Response> {
  return call(`/v1/accounts/${account}${query}`, { method: "DELETE" });
}

async function isListed(account: string): Promise<boolean> {
  return (await (await call("/v1/accounts?limit=200")).text()).includes(account);
}

it("DELETE /v1/accounts/{account} answers 409 with the id of an open task while the index lists an open task of the account", async () => {
  aReceiver();
  const account = await anAccount(10);
  const id = await aCharged(account, 4);
  await indexed(id);
  const response = await remove(account);
  expect(await response.clone().json()).toMatchObject({ detail: expect.stringContaining(id) });
  expect(await refusal(response)).toEqual({ status: 409, code: "task_open" });
  expect(await isListed(account)).toBe(true);
  await finish(aFailure(id));
  await indexed(id);
  expect((await remove(account)).status).toBe(202);
  expect(await isListed(account)).toBe(false);
});

it("DELETE /v1/accounts/{account} with ?force=true deletes an account with an open task, and is answered 202 again when it is repeated without ?force=true", async () => {
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
