import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { beforeAll, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { aReceiver, status } from "./receiver.ts";
import { aRequest, call, post, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { NOTHING, stored, untilIdle } from "./objects.ts";
import { secretsOf } from "./secrets.ts";
import { aCompletion, register } from "./tasks.ts";

useClock();

let secret = "";

beforeAll(async () => {
  [secret = ""] = (await secretsOf()).events;
});

function signedHeaders(
  body: string,
  timestamp = START_S,
  by: Pick<Standard, "sign"> = new Standard(secret),
) {
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(timestamp),
    "webhook-signature": by.sign("evt_1", new Date(timestamp * 1000), body),
  };
}

function send(body: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  return post("/v1/events", body, { key: null, headers });
}

async function expectRefused(id: string, response: Response): Promise<void> {
  expect(await refusal(response)).toEqual({ status: 401, code: "unauthenticated" });
  expect(response.headers.get("WWW-Authenticate")).toMatch(/^Bearer/);
  expect(await stored(id)).toEqual(NOTHING);
}

function anEvent(): { id: string; body: string } {
  const id = crypto.randomUUID();
  return { id, body: JSON.stringify(aCompletion(id, { model: "m" })) };
}

it.each([
  ["standardwebhooks", () => new Standard(secret)],
  ["svix", () => new Svix(secret)],
])(
  "a signed event is accepted when the %s package signs it with the events secret",
  async (_, signer) => {
    const { body } = anEvent();
    expect((await send(body, signedHeaders(body, START_S, signer()))).status).toBe(202);
  },
);

it.each([-301, -300, 300, 301])(
  "a signed event is accepted only with a timestamp within 300 s: %i s",
  async (offset) => {
    const { id, body } = anEvent();
    const response = await send(body, signedHeaders(body, START_S + offset));
    if (Math.abs(offset) > 300) await expectRefused(id, response);
    else expect(response.status).toBe(202);
  },
);

it("a signed event is accepted when one of several signatures is valid", async () => {
  const { body } = anEvent();
  const headers = signedHeaders(body);
  const wrong = `v1,${btoa("x".repeat(32))}`;
  const signatures = `v1a,abc ${wrong} ${headers["webhook-signature"]}`;
  expect((await send(body, { ...headers, "webhook-signature": signatures })).status).toBe(202);
});

it("a signed event is rejected when its body was changed after signing", async () => {
  const { id, body } = anEvent();
  await expectRefused(id, await send(`${body} `, signedHeaders(body)));
});

it.each(["webhook-id", "webhook-timestamp", "webhook-signature"])(
  "a signed event is rejected when %s is missing, empty or changed",
  async (name) => {
    const { id, body } = anEvent();
    const headers: Record<string, string> = signedHeaders(body);
    const { [name]: _, ...rest } = headers;
    await expectRefused(id, await send(body, rest));
    await expectRefused(id, await send(body, { ...rest, [name]: String(START_S - 1) }));
    await expectRefused(id, await send(body, { ...rest, [name]: "" }));
  },
);

it.each([
  ["an unrelated secret", () => `whsec_${btoa("x".repeat(32))}`],
  ["the secret of the callbacks", async () => (await secretsOf()).callbacks[0] ?? ""],
])("a signed event is rejected when it is signed with %s", async (_, other) => {
  const { id, body } = anEvent();
  const headers = signedHeaders(body, START_S, new Standard(await other()));
  await expectRefused(id, await send(body, headers));
});

it("a signed event is rejected with a wrong bearer key, although its signature is valid", async () => {
  const { id, body } = anEvent();
  await expectRefused(
    id,
    await post("/v1/events", body, { key: "wrong", headers: signedHeaders(body) }),
  );
});

it("an event signature does not authenticate a registration", async () => {
  const body = JSON.stringify({ model: "m" });
  const response = await post("/v1/tasks", body, { key: null, headers: signedHeaders(body) });
  expect(await refusal(response)).toEqual({ status: 401, code: "unauthenticated" });
});

it("a signed event is answered without the receiver's response, which only the operator sees", async () => {
  aReceiver(status(500, "internal host name"));
  const id = await register();
  const body = JSON.stringify(aCompletion(id));
  await send(body, signedHeaders(body));
  await untilIdle(id);
  const answer = await send(body, signedHeaders(body));
  expect(await answer.json()).toMatchObject({ callback: { attempts: [{ status_code: 500 }] } });
  const seen = await (await send(body, signedHeaders(body))).text();
  expect(seen).not.toContain("internal host name");
  expect(await (await call(`/v1/tasks/${id}`)).text()).toContain("internal host name");
});

const newer = "a-newer-test-only-secret-0123456789abcdef";
const rotated = { ...env, RELAY_SECRET: `${newer} ${env.RELAY_SECRET}` };

it("a rotated relay accepts events under the old and the new secret, and lists the new one first", async () => {
  const [newest = ""] = (await secretsOf(rotated)).events;
  expect(newest).not.toBe(secret);
  for (const each of [secret, newest]) {
    const { body } = anEvent();
    const headers = signedHeaders(body, START_S, new Standard(each));
    const request = aRequest("/v1/events", { method: "POST", body, key: null, headers });
    expect((await app.fetch(request, rotated)).status).toBe(202);
  }
});

it("a rotated relay rejects events under the old secret once it is removed", async () => {
  const { id, body } = anEvent();
  const headers = signedHeaders(body);
  const request = aRequest("/v1/events", { method: "POST", body, key: null, headers });
  await expectRefused(id, await app.fetch(request, { ...env, RELAY_SECRET: newer }));
});
