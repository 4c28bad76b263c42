import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { answerTo, aRequest, call, callWith, post, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { NOTHING, stored, untilIdle } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import { aCompletion, completed, register } from "./tasks.ts";

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

it("a signed event is accepted when its timestamp is within 300 s of the present time, and rejected otherwise", async () => {
  for (const offset of [-300, 300]) {
    const { body } = anEvent();
    expect((await send(body, signedHeaders(body, START_S + offset))).status).toBe(202);
  }
  for (const offset of [-301, 301]) {
    const { id, body } = anEvent();
    await expectRefused(id, await send(body, signedHeaders(body, START_S + offset)));
  }
});

it("a signed event is rejected when its body was changed after signing", async () => {
  const { id, body } = anEvent();
  await expectRefused(id, await send(`${body} `, signedHeaders(body)));
});

it.each([
  ["an unrelated secret", () => `whsec_${btoa("x".repeat(32))}`],
  ["the secret of the callbacks", async () => (await secretsOf()).callbacks[0] ?? ""],
])("a signed event is rejected when it is signed with %s", async (_, other) => {
  const { id, body } = anEvent();
  const headers = signedHeaders(body, START_S, new Standard(await other()));
  await expectRefused(id, await send(body, headers));
});

it("a signed event that also has a wrong bearer key is rejected, although its signature is valid", async () => {
  const { id, body } = anEvent();
  await expectRefused(
    id,
    await post("/v1/events", body, { key: "wrong", headers: signedHeaders(body) }),
  );
});

it("a registration without a key that is signed like an event gets 401", async () => {
  const body = JSON.stringify({ model: "m" });
  const response = await post("/v1/tasks", body, { key: null, headers: signedHeaders(body) });
  expect(await refusal(response)).toEqual({ status: 401, code: "unauthenticated" });
});

it("the response to a signed event leaves out what the receiver of the callback answered, which only the operator may see", async () => {
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

it("a relay with a new and an old RELAY_SECRET accepts events signed with the events secret of either, and lists that of the new one first", async () => {
  const [newest = ""] = (await secretsOf(rotated)).events;
  expect(newest).not.toBe(secret);
  for (const each of [secret, newest]) {
    const { body } = anEvent();
    const headers = signedHeaders(body, START_S, new Standard(each));
    const request = aRequest("/v1/events", { method: "POST", body, key: null, headers });
    expect((await answerTo(request, rotated)).status).toBe(202);
  }
});

it("once an old RELAY_SECRET is removed, events signed with its events secret are rejected", async () => {
  const { id, body } = anEvent();
  const headers = signedHeaders(body);
  const request = aRequest("/v1/events", { method: "POST", body, key: null, headers });
  await expectRefused(id, await answerTo(request, { ...env, RELAY_SECRET: newer }));
});

const Jwks = z.strictObject({
  keys: z.array(
    z.strictObject({
      kty: z.literal("OKP"),
      crv: z.literal("Ed25519"),
      alg: z.string(),
      use: z.literal("sig"),
      kid: z.string(),
      x: z.string(),
    }),
  ),
});

async function jwksOf(bindings: object) {
  const response = await callWith(bindings, "/.well-known/jwks.json", { key: null });
  return Jwks.parse(await response.json()).keys;
}

it("GET /v1/signing-secrets lists one secret for callbacks, another one for events, and the public key", async () => {
  const response = await call("/v1/signing-secrets");
  expect([response.status, response.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  const secrets = await secretsOf();
  const ofSecret = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const public_keys = [expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/)];
  expect(secrets).toEqual({ callbacks: [ofSecret], events: [ofSecret], public_keys });
  expect(secrets.callbacks).not.toEqual(secrets.events);
});

it("after a rotation of RELAY_SECRET, GET /v1/signing-secrets lists the signing secrets and public keys of the new one before those of the old one", async () => {
  const [before, after] = [await secretsOf(env), await secretsOf(rotated)];
  for (const kind of ["callbacks", "events", "public_keys"] as const) {
    expect(after[kind]).toEqual([expect.any(String), ...before[kind]]);
  }
});

it("when SIGNING_SECRETS, EVENTS_SECRETS and SIGNING_KEYS are set, their values are listed instead of those derived from RELAY_SECRET", async () => {
  const signing = `whsec_${btoa("s".repeat(24))}`;
  const events = `whsec_${btoa("e".repeat(64))}`;
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new Error("expected a key pair");
  const jwk = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const bindings = {
    ...env,
    SIGNING_SECRETS: signing,
    EVENTS_SECRETS: events,
    SIGNING_KEYS: JSON.stringify(jwk),
  };
  expect(await secretsOf(bindings)).toMatchObject({ callbacks: [signing], events: [events] });
  expect(await jwksOf(bindings)).toMatchObject([{ x: z.object({ x: z.string() }).parse(jwk).x }]);
});

it("GET /.well-known/jwks.json shows the public keys to anyone, newest first, and nothing private", async () => {
  const response = await call("/.well-known/jwks.json", { key: null });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toMatch(/^application\/(jwk-set\+)?json/);
  const { keys } = Jwks.parse(await response.json());
  const raw = keys.map(({ x }) => btoa(atob(x.replaceAll("-", "+").replaceAll("_", "/"))));
  expect((await secretsOf(env)).public_keys).toEqual([`whpk_${raw[0]}`]);
  expect(await jwksOf(rotated)).toEqual([expect.anything(), ...keys]);
});

it("GET /.well-known/jwks.json has the key with which WebCrypto can verify a callback's v1a signature", async () => {
  const requests = aReceiver();
  await completed();
  const [[received], [jwk]] = [requests, await jwksOf(env)];
  if (received === undefined || jwk === undefined) throw new Error("expected both");
  const { headers, body } = received;
  const key = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
  const text = /v1a,([A-Za-z0-9+/=]+)/.exec(headers["webhook-signature"] ?? "")?.[1] ?? "";
  const signature = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`;
  const verify = (content: string) =>
    crypto.subtle.verify("Ed25519", key, signature, new TextEncoder().encode(content));
  expect(await verify(signed + body)).toBe(true);
  expect(await verify(`${signed + body} `)).toBe(false);
});
