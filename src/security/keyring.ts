import * as z from "zod";
import type { Account } from "../core/record/task.ts";
import { type Bytes, bytesOf, fromBase64, toBase64 } from "./encoding.ts";
import { hmacKey, type HmacSecret, hmacSecret } from "./hmac.ts";

export type Ed25519Jwk = z.infer<typeof Ed25519JwkSchema>;
/** An Ed25519 private key as a JWK (RFC 8037). */
export const Ed25519JwkSchema = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url().length(43),
  d: z.base64url().length(43),
});

/** The configured secrets that the keyring is made from. Lists are newest first. */
export interface Secrets {
  readonly relaySecrets: readonly string[];
  /** `whsec_…`; null: derived from the relay secrets. */
  readonly signingSecrets: readonly string[] | null;
  /** `whsec_…`; null: derived from the relay secrets. */
  readonly eventsSecrets: readonly string[] | null;
  /** Null: derived from the relay secrets. */
  readonly signingKeys: readonly Ed25519Jwk[] | null;
}

/** Everything the relay signs and verifies with, imported once per isolate. Newest first. */
export interface Keyring {
  readonly callbackSecrets: readonly HmacSecret[];
  readonly eventsSecrets: readonly HmacSecret[];
  readonly signingKeys: readonly SigningKey[];
  /** For the operator's own billing alone: receivers know the callback secrets. */
  readonly settlementSecrets: readonly HmacSecret[];
  /** Events for the operator. */
  readonly operatorSecrets: readonly HmacSecret[];
  /** Signs the cursors of lists. */
  readonly cursorKeys: readonly CryptoKey[];
  /** Makes and checks the tokens in hook URLs. */
  readonly hookKeys: readonly CryptoKey[];
}

export interface SigningKey {
  readonly privateKey: CryptoKey;
  /** Raw public key, 32 bytes, base64url (the JWK member `x`). */
  readonly x: string;
}

// The value is kept, never its promise: a promise of one request must not be awaited by another.
const keyrings = new WeakMap<Secrets, Keyring | null>();

/**
 * Derives what `RELAY_SECRET` stands for: HKDF-SHA-256 (RFC 5869) without salt, one label per use.
 * Configured secrets and keys replace the derived ones; null: one of them is not a key pair.
 */
export async function keyringOf(secrets: Secrets): Promise<Keyring | null> {
  const known = keyrings.get(secrets);
  if (known !== undefined) return known;
  const [callbackSecrets, eventsSecrets, signingKeys, settlementSecrets] = await Promise.all([
    secrets.signingSecrets ?? derivedSecrets(secrets, "callbacks"),
    secrets.eventsSecrets ?? derivedSecrets(secrets, "events"),
    secrets.signingKeys ?? derivedKeys(secrets),
    derivedSecrets(secrets, "settlement"),
  ]);
  const isUsable = (await Promise.all(signingKeys.map(isPair))).every(Boolean);
  const keyring: Keyring | null = isUsable
    ? {
        callbackSecrets: await Promise.all(callbackSecrets.map(hmacSecret)),
        eventsSecrets: await Promise.all(eventsSecrets.map(hmacSecret)),
        signingKeys: await Promise.all(signingKeys.map(signingKey)),
        settlementSecrets: await Promise.all(settlementSecrets.map(hmacSecret)),
        operatorSecrets: await Promise.all(
          (await derivedSecrets(secrets, "operator")).map(hmacSecret),
        ),
        hookKeys: await derivedHmacKeys(secrets, "hooks"),
        cursorKeys: await derivedHmacKeys(secrets, "cursors"),
      }
    : null;
  keyrings.set(secrets, keyring);
  return keyring;
}

/**
 * What callbacks of an account are signed with: its generation, the one before and the next, so that a
 * receiver may change secrets at any time around a rotation. Derived, so signing needs no look-up.
 */
export async function accountSecrets(
  secrets: Secrets,
  { id, generation }: Account,
  generations: readonly number[] = [generation, generation + 1, generation - 1],
): Promise<HmacSecret[]> {
  const labels = generations.map((number) => `callbacks/${id}/${number}`);
  const texts = await Promise.all(labels.map((label) => derivedSecrets(secrets, label)));
  return Promise.all(texts.flat().map(hmacSecret));
}

/** The public half as a JWK (RFC 8037); its `kid` is the key itself, so it needs no registry. */
export function publicJwk({ x }: SigningKey) {
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", kid: x, x };
}

/** The public half as Standard Webhooks writes it. */
export function publicWhpk({ x }: SigningKey): string {
  return `whpk_${toBase64(fromBase64(x))}`;
}

async function derivedSecrets(secrets: Secrets, label: string): Promise<string[]> {
  const derived = await Promise.all(secrets.relaySecrets.map((secret) => derive(secret, label)));
  return derived.map((bytes) => `whsec_${toBase64(bytes)}`);
}

// An Ed25519 private key is any 32 bytes (RFC 8032 §5.1.5); the prefix is its PKCS #8 wrapping (RFC 8410 §7).
const PKCS8_ED25519 = fromBase64("MC4CAQAwBQYDK2VwBCIEIA==");

async function derivedKeys(secrets: Secrets): Promise<Ed25519Jwk[]> {
  return Promise.all(
    secrets.relaySecrets.map(async (secret) => {
      const pkcs8 = bytesOf(PKCS8_ED25519, await derive(secret, "ed25519"));
      const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", true, ["sign"]);
      return Ed25519JwkSchema.parse(await crypto.subtle.exportKey("jwk", key));
    }),
  );
}

async function derivedHmacKeys(secrets: Secrets, label: string): Promise<CryptoKey[]> {
  return Promise.all(
    secrets.relaySecrets.map(async (secret) => hmacKey(await derive(secret, label))),
  );
}

async function derive(secret: string, label: string): Promise<Bytes> {
  const key = await crypto.subtle.importKey("raw", bytesOf(secret), "HKDF", false, ["deriveBits"]);
  const info = bytesOf(`task-relay/v1/${label}`);
  const params = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return new Uint8Array(await crypto.subtle.deriveBits(params, key, 256));
}

async function signingKey(jwk: Ed25519Jwk): Promise<SigningKey> {
  const privateKey = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]);
  return { privateKey, x: jwk.x };
}

// workerd imports halves that are not a pair, and their signatures would verify nowhere.
async function isPair(jwk: Ed25519Jwk): Promise<boolean> {
  const { kty, crv, x } = jwk;
  try {
    const { privateKey } = await signingKey(jwk);
    const half = { kty, crv, x };
    const publicKey = await crypto.subtle.importKey("jwk", half, "Ed25519", false, ["verify"]);
    const probe = new Uint8Array(1);
    const signature = await crypto.subtle.sign("Ed25519", privateKey, probe);
    return await crypto.subtle.verify("Ed25519", publicKey, signature, probe);
  } catch {
    return false;
  }
}
