/**
 * All keys of the relay, in one object per isolate. A key is configured or derived, and serves one use:
 * whoever learns a callback secret can forge neither hook URLs nor refunds.
 */
import * as z from "zod";
import type { Account } from "../core/record/task.ts";
import { derivedHmacKeys, derivedJwks, derivedSecrets } from "./derivation.ts";
import { fromBase64, toBase64 } from "./encoding.ts";
import { type HmacSecret, hmacSecret } from "./hmac.ts";

type Ed25519Jwk = z.infer<typeof Ed25519JwkSchema>;
/** An Ed25519 private key as a JWK (RFC 8037). */
export const Ed25519JwkSchema = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url().length(43),
  d: z.base64url().length(43),
});

/** The configured secrets, newest first. Null means derived from the relay secrets. */
export interface Secrets {
  readonly relaySecrets: readonly string[];
  /** `whsec_…` */
  readonly signingSecrets: readonly string[] | null;
  /** `whsec_…` */
  readonly eventsSecrets: readonly string[] | null;
  readonly signingKeys: readonly Ed25519Jwk[] | null;
}

/** Everything that the relay signs and verifies with, newest first. */
export interface Keyring {
  /** Sign callbacks of tasks without an account. */
  readonly callbackSecrets: readonly HmacSecret[];
  /** Verify events that upstreams report. */
  readonly eventsSecrets: readonly HmacSecret[];
  /** Sign callbacks as well, for receivers that verify with a public key. */
  readonly signingKeys: readonly SigningKey[];
  /** Sign refunds for the operator's own billing. */
  readonly settlementSecrets: readonly HmacSecret[];
  /** Sign events for the operator. */
  readonly operatorSecrets: readonly HmacSecret[];
  /** Sign the cursors of lists. */
  readonly cursorKeys: readonly CryptoKey[];
  /** Make and check the tokens in hook URLs. */
  readonly hookKeys: readonly CryptoKey[];
}

/** An Ed25519 key pair that signs. */
export interface SigningKey {
  readonly privateKey: CryptoKey;
  /** Raw public key, 32 bytes, base64url (the JWK member `x`). */
  readonly x: string;
}

// Holds values, never promises: a promise of one request must not be awaited by another.
const keyrings = new WeakMap<Secrets, Keyring | null>();

/**
 * Imports the configured secrets and keys and derives the others, once per isolate. Returns null when a
 * configured key is not a key pair.
 */
export async function keyringOf(secrets: Secrets): Promise<Keyring | null> {
  const known = keyrings.get(secrets);
  if (known !== undefined) return known;
  const jwks = secrets.signingKeys ?? (await derivedJwks(secrets.relaySecrets));
  const pairs = await Promise.all(jwks.map(importPair));
  const signingKeys = pairs.flatMap((pair) => pair ?? []);
  const keyring = signingKeys.length === jwks.length ? await madeOf(secrets, signingKeys) : null;
  keyrings.set(secrets, keyring);
  return keyring;
}

async function madeOf(secrets: Secrets, signingKeys: readonly SigningKey[]): Promise<Keyring> {
  const { relaySecrets } = secrets;
  const secretsFor = async (configured: readonly string[] | null, label: string) =>
    configured === null
      ? derivedSecrets(relaySecrets, label)
      : Promise.all(configured.map(hmacSecret));
  return {
    signingKeys,
    callbackSecrets: await secretsFor(secrets.signingSecrets, "callbacks"),
    eventsSecrets: await secretsFor(secrets.eventsSecrets, "events"),
    settlementSecrets: await derivedSecrets(relaySecrets, "settlement"),
    operatorSecrets: await derivedSecrets(relaySecrets, "operator"),
    hookKeys: await derivedHmacKeys(relaySecrets, "hooks"),
    cursorKeys: await derivedHmacKeys(relaySecrets, "cursors"),
  };
}

/**
 * Derives the secrets that callbacks of an account are signed with: those of its generation, the next
 * and the previous one, so that a receiver may change secrets at any time around a rotation.
 */
export async function accountSecrets(
  { relaySecrets }: Secrets,
  { id, generation }: Account,
  generations: readonly number[] = [generation, generation + 1, generation - 1],
): Promise<HmacSecret[]> {
  const labels = generations.map((number) => `callbacks/${id}/${number}`);
  const secrets = await Promise.all(labels.map((label) => derivedSecrets(relaySecrets, label)));
  return secrets.flat();
}

/** Builds the public half as a JWK (RFC 8037); its `kid` is the key itself, so it needs no registry. */
export function publicJwk({ x }: SigningKey) {
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", kid: x, x };
}

/** Builds the public half as Standard Webhooks writes it. */
export function publicWhpk({ x }: SigningKey): string {
  return `whpk_${toBase64(fromBase64(x))}`;
}

/** Imports a private key; null when its halves are not a pair, whose signatures would verify nowhere. */
async function importPair(key: unknown): Promise<SigningKey | null> {
  const { kty, crv, x, d } = Ed25519JwkSchema.parse(key);
  try {
    const pair = { kty, crv, x, d };
    const privateKey = await crypto.subtle.importKey("jwk", pair, "Ed25519", false, ["sign"]);
    const half = { kty, crv, x };
    const publicKey = await crypto.subtle.importKey("jwk", half, "Ed25519", false, ["verify"]);
    const probe = new Uint8Array(1);
    const signature = await crypto.subtle.sign("Ed25519", privateKey, probe);
    const isPair = await crypto.subtle.verify("Ed25519", publicKey, signature, probe);
    return isPair ? { privateKey, x } : null;
  } catch {
    return null;
  }
}
