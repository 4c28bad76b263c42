import { describe, expect, it } from "vitest";
import type { SealedKey } from "../../src/core/record/customer-key.ts";
import { fromBase64, toBase64Url } from "../../src/security/encoding.ts";
import { keyringOf } from "../../src/security/keyring.ts";
import { openKey, sealKey } from "../../src/security/sealed-key.ts";
import type { SealingKeys } from "../../src/security/sealing.ts";
import { CONNECTION, ID } from "./builders.ts";

const OLD = "test-only-older-relay-secret-0123456789";
const NEW = "test-only-newer-relay-secret-0123456789";
const KEY = "sk-test-only-customer-4711";
const PLACE = { taskId: ID, connection: CONNECTION };

/** Returns the sealing keys of a relay with these relay secrets, newest first. */
async function keysOf(...relaySecrets: readonly string[]): Promise<SealingKeys> {
  const derived = { signingSecrets: null, eventsSecrets: null, signingKeys: null };
  const keyring = await keyringOf({ relaySecrets, ...derived });
  if (keyring === null) throw new Error("no keyring");
  return keyring.sealingKeys;
}

const old = await keysOf(OLD);
const sealed = await sealKey(KEY, PLACE, old);

function changed(part: keyof SealedKey): SealedKey {
  const [first = "", ...rest] = sealed[part];
  return { ...sealed, [part]: [first === "A" ? "B" : "A", ...rest].join("") };
}

describe("a customer's key that is sealed", () => {
  it("a customer's key that was sealed (encrypted) for a task and connection can be opened for the same task and connection", async () => {
    expect(await openKey(sealed, PLACE, old)).toBe(KEY);
  });

  it("a sealed key of a customer shows nothing of the key in plain text, and sealing the same key twice gives two different results", async () => {
    const again = await sealKey(KEY, PLACE, old);
    expect(JSON.stringify([sealed, again])).not.toMatch(/test-only|sk-/);
    expect(again.ciphertext).not.toBe(sealed.ciphertext);
    expect(again.nonce).not.toBe(sealed.nonce);
  });

  it.each([
    ["task", { ...PLACE, taskId: "1f8fad5b-d9cb-469f-a165-70867728950e" }],
    ["connection", { ...PLACE, connection: "ark-2" }],
  ])(
    "a sealed key of a customer cannot be opened for another %s than the one for which it was sealed",
    async (_, place) => {
      expect(await openKey(sealed, place, old)).toBeNull();
    },
  );

  it.each(["sealedWith", "nonce", "ciphertext"] as const)(
    "a sealed key of a customer cannot be opened when a part of it, %s, is changed",
    async (part) => {
      expect(await openKey(changed(part), PLACE, old)).toBeNull();
    },
  );

  it.each([
    ["empty", ""],
    ["no base64url", "!"],
    ["too short for its tag", "AAAA"],
  ])(
    "a sealed key of a customer cannot be opened when its ciphertext is %s",
    async (_, ciphertext) => {
      expect(await openKey({ ...sealed, ciphertext }, PLACE, old)).toBeNull();
    },
  );

  it.each([
    ["behind a newer secret", [NEW, OLD]],
    ["before another secret", [OLD, NEW]],
  ])(
    "after a rotation of the relay secrets, a sealed key of a customer can be opened while the secret that sealed it is configured %s",
    async (_, secrets) => {
      expect(await openKey(sealed, PLACE, await keysOf(...secrets))).toBe(KEY);
    },
  );

  it("a sealed key of a customer cannot be opened when the relay secret that sealed it is no longer configured", async () => {
    const keys = await keysOf(NEW);
    expect([keys.has(sealed.sealedWith), await openKey(sealed, PLACE, keys)]).toEqual([
      false,
      null,
    ]);
  });

  it("a customer's key is sealed with the newest relay secret", async () => {
    const { sealedWith } = await sealKey(KEY, PLACE, await keysOf(NEW, OLD));
    expect([...(await keysOf(NEW)).keys()]).toEqual([sealedWith]);
  });

  it("a customer's key is sealed by AES-256-GCM, with connection and task as associated data, under a key that HKDF derives for this purpose alone", async () => {
    const key = await crypto.subtle.importKey(
      "raw",
      await derivedBits("customer-keys"),
      "AES-GCM",
      false,
      ["decrypt"],
    );
    const iv = fromBase64(sealed.nonce);
    const additionalData = new TextEncoder().encode(`${CONNECTION}\n${ID}`);
    const parameters = { name: "AES-GCM", iv, additionalData, tagLength: 128 };
    const opened = await crypto.subtle.decrypt(parameters, key, fromBase64(sealed.ciphertext));
    expect([iv.length, new TextDecoder().decode(opened)]).toEqual([12, KEY]);
  });

  it("a sealed key names its relay secret by nine bytes, which HKDF derives under a label of their own and which are no part of the encryption key", async () => {
    const id = (await derivedBits("customer-keys/id")).slice(0, 9);
    expect(sealed.sealedWith).toBe(toBase64Url(id));
    const key = await derivedBits("customer-keys");
    expect(toBase64Url(key)).not.toContain(sealed.sealedWith);
  });
});

/** Derives 32 bytes from the older relay secret for a use, by RFC 5869 as the documentation states it. */
async function derivedBits(label: string): Promise<ArrayBuffer> {
  const bytes = new TextEncoder().encode(OLD);
  const secret = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveBits"]);
  const info = new TextEncoder().encode(`task-relay/v1/${label}`);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return crypto.subtle.deriveBits(parameters, secret, 256);
}
