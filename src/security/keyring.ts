/**
 * All keys of the relay, in one object per isolate. A key is either configured or derived. Each key has only one use,
 * so that e.g. a leaked callback secret cannot be used to forge hook URLs or refunds.
 */
import * as z from "zod/mini";
import type { EndpointSecret } from "../core/record/endpoint-copy.ts";
import type { Account } from "../core/record/task.ts";
import {
  derivedHmacKeys,
  derivedImmediateKeys,
  derivedJwks,
  derivedSealingKeys,
  derivedSecrets,
} from "./derivation.ts";
import { fromBase64, toBase64 } from "./encoding.ts";
import { type HmacSecret, hmacSecret, type ImmediateHmacKey } from "./hmac.ts";
import type { SealingKeys } from "./sealing.ts";

type Ed25519Jwk = z.infer<typeof Ed25519JwkSchema>;
/** Schema of an Ed25519 private key as a JWK (RFC 8037). */
export const Ed25519JwkSchema = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.base64url().check(z.length(43)),
  d: z.base64url().check(z.length(43)),
});

/**
 * The configured secrets and keys with which the relay signs callbacks and verifies events, newest first. A member is
 * null when its secrets or keys are derived from the relay secrets, i.e. from the values of `RELAY_SECRET`
 * (`relaySecrets`).
 */
export interface Secrets {
  readonly relaySecrets: readonly string[];
  /** Configured secrets that sign callbacks, as `whsec_…`. Null when they are derived from the relay secrets. */
  readonly signingSecrets: readonly string[] | null;
  /**
   * Configured secrets that verify events of upstreams, as `whsec_…`. Null when they are derived from the relay
   * secrets.
   */
  readonly eventsSecrets: readonly string[] | null;
  readonly signingKeys: readonly Ed25519Jwk[] | null;
}

/** All keys with which the relay signs and verifies, newest first. */
export interface Keyring {
  /** Secrets that sign callbacks of tasks without an account. */
  readonly callbackSecrets: readonly HmacSecret[];
  /** Secrets that verify the events that upstreams report. */
  readonly eventsSecrets: readonly HmacSecret[];
  /** Ed25519 keys that also sign callbacks, for receivers that verify with a public key. */
  readonly signingKeys: readonly SigningKey[];
  /** Secrets that sign the messages about refunds to the operator's own billing. */
  readonly settlementSecrets: readonly HmacSecret[];
  /** Secrets that sign the events that are sent to the operator. */
  readonly operatorSecrets: readonly HmacSecret[];
  /** Keys that sign the session cookies of the console. */
  readonly sessionKeys: readonly CryptoKey[];
  /** Keys that sign the cursors in lists, i.e. the texts with which clients ask for the next page. */
  readonly cursorKeys: readonly CryptoKey[];
  /** Keys that make and check the tokens in hook URLs. */
  readonly hookKeys: readonly CryptoKey[];
  /** Keys that make and check the tokens of status links. */
  readonly statusKeys: readonly CryptoKey[];
  /**
   * Keys that make and check the tokens in links to outputs. They are synchronous keys, because these links are made
   * while a result is recorded.
   */
  readonly outputKeys: readonly ImmediateHmacKey[];
  /** Keys that make and check the MACs in API keys that the relay generates for accounts. */
  readonly accountMacKeys: readonly CryptoKey[];
  /** Keys that encrypt the keys of customers at upstreams, by the identifiers of the relay secrets. */
  readonly sealingKeys: SealingKeys;
  /** Keys that encrypt the headers of endpoints. */
  readonly headerKeys: SealingKeys;
}

/** An Ed25519 key pair that signs callbacks. */
export interface SigningKey {
  readonly privateKey: CryptoKey;
  /** Public key: 32 bytes in base64url (the JWK member `x`). */
  readonly x: string;
}

/**
 * Returns all keys of the relay: configured keys are imported, the others are derived. Null when the two parts of a
 * configured key do not form a key pair.
 */
export async function keyringOf(secrets: Secrets): Promise<Keyring | null> {
  const jwks = secrets.signingKeys ?? (await derivedJwks(secrets.relaySecrets));
  const pairs = await Promise.all(jwks.map(importPair));
  const signingKeys = pairs.flatMap((pair) => pair ?? []);
  return signingKeys.length === jwks.length ? madeOf(secrets, signingKeys) : null;
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
    statusKeys: await derivedHmacKeys(relaySecrets, "status"),
    outputKeys: await derivedImmediateKeys(relaySecrets, "outputs"),
    accountMacKeys: await derivedHmacKeys(relaySecrets, "account-keys"),
    sessionKeys: await derivedHmacKeys(relaySecrets, "sessions"),
    cursorKeys: await derivedHmacKeys(relaySecrets, "cursors"),
    sealingKeys: await derivedSealingKeys(relaySecrets, "customer-keys"),
    headerKeys: await derivedSealingKeys(relaySecrets, "endpoint-headers"),
  };
}

/**
 * Returns the secrets that sign the callbacks of an account. By default these are the secrets of the present, the next
 * and the previous generation, so that a receiver can change to the new secret at any time, before or after a rotation.
 * The first generation, 1, has no previous one.
 */
export async function accountSecrets(
  { relaySecrets }: Secrets,
  { id, generation }: Account,
  generations: readonly number[] = generationsAround(generation),
): Promise<HmacSecret[]> {
  return await secretsLabelled(relaySecrets, `callbacks/${id}`, generations);
}

/**
 * Returns the secrets that sign the callbacks of an endpoint with a secret of its own, by generation as those of an
 * account.
 */
export async function endpointSecrets(
  { relaySecrets }: Secrets,
  { id, generation }: EndpointSecret,
  generations: readonly number[] = generationsAround(generation),
): Promise<HmacSecret[]> {
  return await secretsLabelled(relaySecrets, `endpoints/${id}`, generations);
}

/** Returns the present, the next and the previous generation. */
function generationsAround(generation: number): readonly number[] {
  return [generation, generation + 1, generation - 1];
}

async function secretsLabelled(
  relaySecrets: readonly string[],
  label: string,
  generations: readonly number[],
): Promise<HmacSecret[]> {
  const secrets = await Promise.all(
    generations
      .filter((number) => number > 0)
      .map((number) => derivedSecrets(relaySecrets, `${label}/${number}`)),
  );
  return secrets.flat();
}

/**
 * Returns the JWK of a public key (RFC 8037). The key id `kid` is the public key itself, so no list of ids is
 * needed.
 */
export function publicJwk({ x }: SigningKey) {
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", kid: x, x };
}

/** Returns the text of a public key as Standard Webhooks writes it (`whpk_…`). */
export function publicWhpk({ x }: SigningKey): string {
  return `whpk_${toBase64(fromBase64(x))}`;
}

/**
 * Returns an imported Ed25519 key pair. Null when the private and the public key do not belong together, because no
 * receiver could then verify the signatures.
 */
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
