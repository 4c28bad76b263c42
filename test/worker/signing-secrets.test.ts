import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { call, callWith } from "./client.ts";
import { useClock } from "./clock.ts";
import { aReceiver } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import { completed } from "./tasks.ts";

useClock();

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

const rotated = { ...env, RELAY_SECRET: `${"n".repeat(32)} ${env.RELAY_SECRET}` };

async function jwksOf(bindings: object) {
  const response = await callWith(bindings, "/.well-known/jwks.json", { key: null });
  return Jwks.parse(await response.json()).keys;
}

it("GET /v1/signing-secrets lists one secret for callbacks, another for events, and the public key", async () => {
  const response = await call("/v1/signing-secrets");
  expect([response.status, response.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  const secrets = await secretsOf();
  const secret = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const public_keys = [expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/)];
  expect(secrets).toEqual({ callbacks: [secret], events: [secret], public_keys });
  expect(secrets.callbacks).not.toEqual(secrets.events);
});

it("GET /v1/signing-secrets lists the newest secrets first after a rotation of RELAY_SECRET, and the older ones", async () => {
  const [before, after] = [await secretsOf(env), await secretsOf(rotated)];
  for (const kind of ["callbacks", "events", "public_keys"] as const) {
    expect(after[kind]).toEqual([expect.any(String), ...before[kind]]);
  }
});

it("GET /v1/signing-secrets lists configured secrets and keys instead of derived ones", async () => {
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

it("GET /.well-known/jwks.json shows anyone the public keys, newest first, and nothing private", async () => {
  const response = await call("/.well-known/jwks.json", { key: null });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toMatch(/^application\/(jwk-set\+)?json/);
  const { keys } = Jwks.parse(await response.json());
  const raw = keys.map(({ x }) => btoa(atob(x.replaceAll("-", "+").replaceAll("_", "/"))));
  expect((await secretsOf(env)).public_keys).toEqual([`whpk_${raw[0]}`]);
  expect(await jwksOf(rotated)).toEqual([expect.anything(), ...keys]);
});

it("GET /.well-known/jwks.json verifies the v1a signature of a callback with WebCrypto", async () => {
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
