import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "./accounts.ts";
import type { Sent } from "./outside.ts";
import { aReceiver } from "./receiver.ts";
import { call, callWith, invalid, post, refusal } from "./client.ts";
import { pass, useClock } from "./clock.ts";
import { restart, untilIdle } from "./objects.ts";
import { secretsOf as relaySecretsOf } from "./secrets.ts";
import { aCompletion, CALLBACK_URL, finish, redeliver, register, report } from "./tasks.ts";

useClock();

const Secrets = z.strictObject({
  generation: z.number(),
  callbacks: z.array(z.string()),
  public_keys: z.array(z.string()),
});
const TWO_SECRETS = { ...env, RELAY_SECRET: `${"n".repeat(32)} ${env.RELAY_SECRET}` };

async function secretsOf(account: string, bindings: object = env): Promise<readonly string[]> {
  const response = await callWith(bindings, `/v1/accounts/${account}/signing-secrets`);
  return Secrets.parse(await response.json()).callbacks;
}

async function newest(account: string): Promise<string> {
  const [secret] = await secretsOf(account);
  if (secret === undefined) throw new Error("the account has no secret");
  return secret;
}

async function rotate(account: string, body: unknown = "") {
  const response = await post(`/v1/accounts/${account}/signing-secrets`, body);
  expect([response.status, response.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  return Secrets.parse(await response.json());
}

/** Completes the task and returns the callback that its receiver got. */
async function callbackOf(id: string): Promise<Sent> {
  const received = aReceiver();
  await finish(aCompletion(id));
  const [request] = received;
  if (request === undefined) throw new Error("no callback arrived");
  return request;
}

/** Verifies a callback with two independent libraries, which have to agree. */
function verifies({ body, headers }: Sent, secret: string): boolean {
  const verdicts = [Standard, Svix].map((Webhook) => {
    try {
      new Webhook(secret).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  });
  expect(new Set(verdicts).size).toBe(1);
  return verdicts[0] === true;
}

it("GET /v1/accounts/{account}/signing-secrets shows the operator and the account a secret that differs from those of other accounts and the relay", async () => {
  const [account, other] = [await anAccount(), await anAccount()];
  const { key } = await aKey(account);
  const path = `/v1/accounts/${account}/signing-secrets`;
  const response = await call(path, { key });
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  const secrets = Secrets.parse(await response.json());
  expect(secrets.callbacks).toEqual([expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)]);
  expect(await (await call(path)).json()).toEqual(secrets);
  expect(await secretsOf(other)).not.toEqual(secrets.callbacks);
  const relays = await (await call("/v1/signing-secrets")).text();
  expect(relays).not.toContain(secrets.callbacks[0]);
  expect(relays).toContain(secrets.public_keys[0]);
});

it("the signature of a callback of an account's task is valid under that account's secret, and not under another account's or the relay's", async () => {
  const [account, other] = [await anAccount(), await anAccount()];
  const callback = await callbackOf(await register({ account }));
  expect(verifies(callback, await newest(account))).toBe(true);
  expect(verifies(callback, await newest(other))).toBe(false);
  expect(verifies(await callbackOf(await register()), await newest(account))).toBe(false);
  const relay = await relaySecretsOf();
  expect(relay.callbacks.map((secret) => verifies(callback, secret))).toEqual([false]);
});

it("callbacks are signed with the account's secret also when an event created the task, when the task has a price, and on a redelivery", async () => {
  const account = await anAccount(10);
  const secret = await newest(account);
  const created = crypto.randomUUID();
  const event = { id: created, status: "processing", model: "m", account };
  await report({ ...event, callback_url: CALLBACK_URL });
  const charged = await register({ account, credits: 4 });
  for (const id of [created, charged]) {
    expect(verifies(await callbackOf(id), secret)).toBe(true);
    const received = aReceiver();
    await redeliver(id);
    await untilIdle(id);
    expect(received.map((request) => verifies(request, secret))).toEqual([true]);
  }
});

it("a test callback is signed with the account's secret when the account sends it, and not when the operator does", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const secret = await newest(account);
  const received = aReceiver();
  for (const each of [{ key }, {}]) {
    await post("/v1/callbacks/test", { callback_url: CALLBACK_URL }, each);
  }
  expect(received.map((request) => verifies(request, secret))).toEqual([true, false]);
});

it("after a rotation of an account's signing secret, callbacks verify with both the old and the new secret, even for tasks created before it", async () => {
  const account = await anAccount();
  const old = await newest(account);
  const [first, second] = [await register({ account }), await register({ account })];
  const early = await callbackOf(first);
  const [fresh = ""] = (await rotate(account)).callbacks;
  // The cache of this isolate still contains the former generation.
  const soon = await callbackOf(await register({ account }));
  pass(60_000);
  const late = await callbackOf(second);
  const after = await callbackOf(await register({ account }));
  for (const callback of [early, soon, late, after]) {
    expect([verifies(callback, old), verifies(callback, fresh)]).toEqual([true, true]);
  }
});

it("an account's signing secret that was rotated away twice before a task was created does not verify the task's callback", async () => {
  const account = await anAccount(10);
  const old = await newest(account);
  await rotate(account);
  const [fresh = ""] = (await rotate(account)).callbacks;
  for (const credits of [null, 4]) {
    const callback = await callbackOf(await register({ account, credits }));
    expect([verifies(callback, old), verifies(callback, fresh)]).toEqual([false, true]);
  }
});

it("while the relay has two RELAY_SECRETs, a callback of an account's task verifies with the account's secret derived from each of them", async () => {
  const account = await anAccount();
  const older = await secretsOf(account);
  const both = await secretsOf(account, TWO_SECRETS);
  expect(both).toEqual([expect.any(String), ...older]);
  const id = await register({ account });
  await restart(id, TWO_SECRETS);
  const callback = await callbackOf(id);
  expect(both.map((secret) => verifies(callback, secret))).toEqual([true, true]);
  await rotate(account);
  const four = await secretsOf(account, TWO_SECRETS);
  expect(four.map((secret) => verifies(callback, secret))).toEqual([true, true, true, true]);
});

it("POST /v1/accounts/{account}/signing-secrets rotates the account's secret, and lists the new one first, then the previous one, and no older ones", async () => {
  const account = await anAccount();
  const first = await newest(account);
  const [second, ...before] = (await rotate(account)).callbacks;
  expect(before).toEqual([first]);
  expect(await secretsOf(account)).toEqual([second, first]);
  const [third, ...older] = (await rotate(account)).callbacks;
  expect(older).toEqual([second]);
  expect(new Set([first, second, third]).size).toBe(3);
});

it("POST /v1/accounts/{account}/signing-secrets rotates the secret only once when a request with the same generation number is repeated", async () => {
  const account = await anAccount();
  const answers = [await rotate(account, { generation: 1 })];
  expect(await rotate(account, { generation: 1 })).toEqual(answers[0]);
  expect(answers[0]).toMatchObject({ generation: 2 });
});

it("POST /v1/accounts/{account}/signing-secrets rejects a secret that the caller supplies", async () => {
  const account = await anAccount();
  const response = await post(`/v1/accounts/${account}/signing-secrets`, { secret: "mine" });
  expect(await refusal(response)).toEqual(invalid("/secret"));
  expect(await secretsOf(account)).toHaveLength(1);
});
