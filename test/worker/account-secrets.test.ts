import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { aKey, anAccount } from "./accounts.ts";
import { restart } from "./instance.ts";
import { aReceiver, type Received } from "./receiver.ts";
import {
  aCompletion,
  aRequest,
  atRest,
  call,
  CALLBACK_URL,
  pass,
  post,
  register,
  useClock,
} from "./support.ts";

useClock();

const Secrets = z.strictObject({
  generation: z.number(),
  callbacks: z.array(z.string()),
  public_keys: z.array(z.string()),
});
const TWO_SECRETS = { ...env, RELAY_SECRET: `${"n".repeat(32)} ${env.RELAY_SECRET}` };

async function secretsOf(account: string, bindings: object = env): Promise<readonly string[]> {
  const response = await app.fetch(aRequest(`/v1/accounts/${account}/signing-secrets`), bindings);
  return Secrets.parse(await response.json()).callbacks;
}

async function newest(account: string): Promise<string> {
  const [secret] = await secretsOf(account);
  if (secret === undefined) throw new Error("there is no secret");
  return secret;
}

async function rotate(account: string): Promise<readonly string[]> {
  const response = await post(`/v1/accounts/${account}/signing-secrets`, "");
  expect(response.status).toBe(200);
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  return Secrets.parse(await response.json()).callbacks;
}

/** What arrives when a task of the account completes. */
async function callbackOf(id: string): Promise<Received> {
  const received = aReceiver();
  await post("/v1/events", aCompletion(id));
  await atRest(id);
  const [request] = received;
  if (request === undefined) throw new Error("nothing arrived");
  return request;
}

/** By two libraries of others, which have to agree. */
function verifies({ body, headers }: Received, secret: string): boolean {
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

describe("the signing secret of an account", () => {
  it("is derived, its own, and read by the operator and its owner", async () => {
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

  it("verifies callbacks of its tasks, and neither another's nor the relay's does", async () => {
    const [account, other] = [await anAccount(), await anAccount()];
    const callback = await callbackOf(await register({ account }));
    expect(verifies(callback, await newest(account))).toBe(true);
    expect(verifies(callback, await newest(other))).toBe(false);
    const Relays = z.object({ callbacks: z.array(z.string()) });
    const relays = Relays.parse(await (await call("/v1/signing-secrets")).json());
    expect(relays.callbacks.map((secret) => verifies(callback, secret))).toEqual([false]);
  });

  it("signs for a task that an event has created, for one with credits, and for redeliveries", async () => {
    const account = await anAccount(10);
    const secret = await newest(account);
    const created = crypto.randomUUID();
    const event = { id: created, status: "processing", model: "m", account };
    await post("/v1/events", { ...event, callback_url: CALLBACK_URL });
    const charged = await register({ account, credits: 4 });
    for (const id of [created, charged]) {
      expect(verifies(await callbackOf(id), secret)).toBe(true);
      const received = aReceiver();
      await post(`/v1/tasks/${id}/redeliver`, "");
      await atRest(id);
      expect(received.map((request) => verifies(request, secret))).toEqual([true]);
    }
  });

  it("does not sign for tasks without an account", async () => {
    const account = await anAccount();
    const callback = await callbackOf(await register());
    expect(verifies(callback, await newest(account))).toBe(false);
  });

  it("signs the test callback of its owner, and the relay's that of the operator", async () => {
    const account = await anAccount();
    const { key } = await aKey(account);
    const secret = await newest(account);
    const received = aReceiver();
    for (const each of [{ key }, {}]) {
      await post("/v1/callbacks/test", { callback_url: CALLBACK_URL }, each);
    }
    expect(received.map((request) => verifies(request, secret))).toEqual([true, false]);
  });
});

describe("POST /v1/accounts/{account}/signing-secrets", () => {
  it("makes a new secret and shows it before the one it follows", async () => {
    const account = await anAccount();
    const [first] = await secretsOf(account);
    const [second, ...before] = await rotate(account);
    expect(before).toEqual([first]);
    expect(second).not.toBe(first);
    expect(await secretsOf(account)).toEqual([second, first]);
    const [third, ...older] = await rotate(account);
    expect(older).toEqual([second]);
    expect(new Set([first, second, third]).size).toBe(3);
  });

  it("lets receivers change secrets at any time around one rotation", async () => {
    const account = await anAccount();
    const old = await newest(account);
    const before = [await register({ account }), await register({ account })];
    const early = await callbackOf(before[0] ?? "");
    const [fresh = ""] = await rotate(account);
    pass(60_000);
    const late = await callbackOf(before[1] ?? "");
    const after = await callbackOf(await register({ account }));
    for (const callback of [early, late, after]) {
      expect([verifies(callback, old), verifies(callback, fresh)]).toEqual([true, true]);
    }
  });

  it("ends the secret of two rotations ago, for tasks created since", async () => {
    const account = await anAccount(10);
    const old = await newest(account);
    await rotate(account);
    const [fresh = ""] = await rotate(account);
    for (const credits of [null, 4]) {
      const callback = await callbackOf(await register({ account, credits }));
      expect([verifies(callback, old), verifies(callback, fresh)]).toEqual([false, true]);
    }
  });

  it("still verifies where this isolate has not heard of the rotation yet", async () => {
    const account = await anAccount();
    const old = await newest(account);
    await register({ account });
    const [fresh = ""] = await rotate(account);
    const callback = await callbackOf(await register({ account }));
    expect([verifies(callback, old), verifies(callback, fresh)]).toEqual([true, true]);
  });

  it("rotates once, however often the order is repeated with the generation it saw", async () => {
    const account = await anAccount();
    const order = () => post(`/v1/accounts/${account}/signing-secrets`, { generation: 1 });
    const answers = [Secrets.parse(await (await order()).json()), await (await order()).json()];
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ generation: 2 });
  });

  it("takes no other fields", async () => {
    const account = await anAccount();
    const response = await post(`/v1/accounts/${account}/signing-secrets`, { secret: "mine" });
    expect(response.status).toBe(400);
    expect(await secretsOf(account)).toHaveLength(1);
  });
});

describe("two RELAY_SECRETs", () => {
  it("give two secrets to an account, newest first, and both sign", async () => {
    const account = await anAccount();
    const older = await secretsOf(account);
    const both = await secretsOf(account, TWO_SECRETS);
    expect(both).toHaveLength(2);
    expect(both.slice(1)).toEqual(older);
    const id = await register({ account });
    await restart(id, TWO_SECRETS);
    const callback = await callbackOf(id);
    expect(both.map((secret) => verifies(callback, secret))).toEqual([true, true]);
    await rotate(account);
    const four = await secretsOf(account, TWO_SECRETS);
    expect(four).toHaveLength(4);
    expect(four.map((secret) => verifies(callback, secret))).toEqual([true, true, true, true]);
  });
});
