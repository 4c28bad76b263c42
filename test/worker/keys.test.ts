import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { aReceiver } from "./receiver.ts";
import { aRequest, call } from "./client.ts";
import { useClock } from "./clock.ts";
import { completed } from "./tasks.ts";

useClock();

const Secrets = z.strictObject({
  callbacks: z.array(z.string()),
  events: z.array(z.string()),
  public_keys: z.array(z.string()),
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

const rotated = { ...env, RELAY_SECRET: `${"n".repeat(32)} ${env.RELAY_SECRET}` };

async function secretsOf(bindings: object) {
  const response = await app.fetch(aRequest("/v1/signing-secrets"), bindings);
  return Secrets.parse(await response.json());
}

async function jwksOf(bindings: object) {
  const response = await app.fetch(aRequest("/.well-known/jwks.json", { key: null }), bindings);
  return Jwks.parse(await response.json()).keys;
}

describe("GET /v1/signing-secrets", () => {
  it("lists what to give to receivers and to the upstream, each of its own", async () => {
    const response = await call("/v1/signing-secrets");
    expect(response.status).toBe(200);
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    const { callbacks, events, public_keys } = Secrets.parse(await response.json());
    expect([callbacks.length, events.length, public_keys.length]).toEqual([1, 1, 1]);
    for (const secret of [...callbacks, ...events]) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    }
    expect(public_keys[0]).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    expect(callbacks).not.toEqual(events);
  });

  it("lists the newest first after a rotation, and keeps the older", async () => {
    const [before, after] = [await secretsOf(env), await secretsOf(rotated)];
    for (const kind of ["callbacks", "events", "public_keys"] as const) {
      expect(after[kind]).toHaveLength(2);
      expect(after[kind].slice(1)).toEqual(before[kind]);
    }
  });

  it("lists configured secrets and keys instead of the derived ones", async () => {
    const signing = `whsec_${btoa("s".repeat(24))}`;
    const events = `whsec_${btoa("e".repeat(64))}`;
    const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
    if (!("privateKey" in pair)) throw new Error("expected a pair");
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

  it.each([null, "wrong"])("is not for the key %s", async (key) => {
    const response = await call("/v1/signing-secrets", { key });
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain("whsec_");
  });
});

describe("GET /.well-known/jwks.json", () => {
  it("holds the public key, and nothing private, for anyone", async () => {
    const response = await call("/.well-known/jwks.json", { key: null });
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toMatch(/^application\/(jwk-set\+)?json/);
    const [key, ...more] = Jwks.parse(await response.json()).keys;
    expect(more).toEqual([]);
    const { public_keys } = await secretsOf(env);
    const raw = atob((key?.x ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    expect(public_keys).toEqual([`whpk_${btoa(raw)}`]);
  });

  it("verifies the v1a signature of a callback with WebCrypto", async () => {
    const [received] = await delivered();
    const [jwk] = await jwksOf(env);
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

  it("lists the older key too after a rotation, newest first", async () => {
    const [before, after] = [await jwksOf(env), await jwksOf(rotated)];
    expect(after).toHaveLength(2);
    expect(after.slice(1)).toEqual(before);
  });
});

async function delivered() {
  const received = aReceiver();
  await completed();
  return received;
}
