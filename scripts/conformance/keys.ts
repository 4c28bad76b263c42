import { derivedJwks, derivedSecrets } from "../../src/security/derivation.ts";
import { bytesOf, fromBase64, toBase64, toBase64Url } from "../../src/security/encoding.ts";
import { hmacSecret, isHmacSecret } from "../../src/security/hmac.ts";
import { Ed25519JwkSchema, type Keyring } from "../../src/security/keyring.ts";

type SigningKeys = Pick<Keyring, "callbackSecrets" | "signingKeys">;

/** One of the two signature schemes of callbacks, with the keys that a conformance run signs with. */
export interface Scheme {
  /** Name of the scheme in `webhook-signature`: `v1` is HMAC-SHA-256, `v1a` is Ed25519. */
  readonly name: "v1" | "v1a";
  /** The secret or key that the receiver verifies with. */
  readonly known: SigningKeys;
  /** A secret or key of the same scheme that the receiver does not know. */
  readonly unknown: SigningKeys;
  /** A secret or key of the other scheme that the receiver does not know. */
  readonly otherScheme: SigningKeys;
}

const SYMMETRIC_LABEL = "callbacks";
const PRIVATE_KEY = /^whsk_([A-Za-z0-9+/]{86}==)$/;
const SEED_BYTES = 32;

/**
 * Reads the secret that a receiver verifies with: `whsec_…`, or the private half `whsk_…` (seed and public
 * key) of the key pair whose public half it verifies with. Null when the text is neither.
 */
export async function schemeOf(secret: string): Promise<Scheme | null> {
  const [symmetric, asymmetric] = await Promise.all([symmetricKeys("unknown"), pairOf("unknown")]);
  if (isHmacSecret(secret)) {
    const known = { callbackSecrets: [await hmacSecret(secret)], signingKeys: [] };
    return { name: "v1", known, unknown: symmetric, otherScheme: asymmetric.keys };
  }
  const pair = PRIVATE_KEY.exec(secret)?.[1];
  if (pair === undefined) return null;
  const bytes = fromBase64(pair);
  const [d, x] = [bytes.slice(0, SEED_BYTES), bytes.slice(SEED_BYTES)].map(toBase64Url);
  const known = await importedKeys({ kty: "OKP", crv: "Ed25519", d, x });
  return known && { name: "v1a", known, unknown: asymmetric.keys, otherScheme: symmetric };
}

/** Returns the published secret of the symmetric vectors, as `whsec_…`. */
export async function publishedSecret(): Promise<string> {
  const { callbackSecrets } = await symmetricKeys("known");
  return callbackSecrets.map(({ text }) => text).join();
}

/** Returns the published private key of the asymmetric vectors, as `whsk_…`. */
export async function publishedPrivateKey(): Promise<string> {
  const { d, x } = (await pairOf("known")).jwk;
  return `whsk_${toBase64(bytesOf(fromBase64(d), fromBase64(x)))}`;
}

async function symmetricKeys(name: string): Promise<SigningKeys> {
  return {
    callbackSecrets: await derivedSecrets([`conformance ${name}`], SYMMETRIC_LABEL),
    signingKeys: [],
  };
}

async function pairOf(name: string) {
  const [derived] = await derivedJwks([`conformance ${name}`]);
  const jwk = Ed25519JwkSchema.parse(derived);
  const keys = await importedKeys(jwk);
  if (keys === null) throw new Error("a derived key could not be imported");
  return { jwk, keys };
}

/** Imports a private Ed25519 key; null when its public half does not belong to it. */
async function importedKeys(key: unknown): Promise<SigningKeys | null> {
  const { kty, crv, d, x } = Ed25519JwkSchema.parse(key);
  const jwk = { kty, crv, d, x };
  const imported = crypto.subtle.importKey("jwk", jwk, "Ed25519", true, ["sign"]);
  // Node throws when it imports a pair whose halves do not belong together.
  const privateKey = await imported.catch(() => null);
  return privateKey && { callbackSecrets: [], signingKeys: [{ privateKey, x }] };
}
