/**
 * Derivation of the keys and secrets that are not configured by a variable. They are derived from `RELAY_SECRET` by
 * HKDF-SHA-256 (RFC 5869) without salt, with another label for each use. So no key has two uses, and no derived key
 * reveals `RELAY_SECRET`.
 */
import { type Bytes, bytesOf, fromBase64, toBase64, toBase64Url } from "./encoding.ts";
import { hmacKey, type HmacSecret, hmacSecret, type ImmediateHmacKey } from "./hmac.ts";

/** Returns one Standard Webhooks secret for each relay secret. It is derived for the use that the label names. */
export async function derivedSecrets(
  relaySecrets: readonly string[],
  label: string,
): Promise<readonly HmacSecret[]> {
  return Promise.all(
    relaySecrets.map(async (secret) => {
      return hmacSecret(`whsec_${toBase64(await derive(secret, label))}`);
    }),
  );
}

/** Returns one HMAC-SHA-256 key for each relay secret. It is derived for the use that the label names. */
export async function derivedHmacKeys(
  relaySecrets: readonly string[],
  label: string,
): Promise<readonly CryptoKey[]> {
  return Promise.all(relaySecrets.map(async (secret) => hmacKey(await derive(secret, label))));
}

/**
 * Returns one HMAC-SHA-256 key for each relay secret, with which synchronous code can sign. It is derived for the use
 * that the label names.
 */
export async function derivedImmediateKeys(
  relaySecrets: readonly string[],
  label: string,
): Promise<readonly ImmediateHmacKey[]> {
  return Promise.all(
    relaySecrets.map(async (secret) => {
      const bytes = await derive(secret, label);
      return { bytes, key: await hmacKey(bytes) };
    }),
  );
}

/** Length in bytes of the identifier of a relay secret. */
const SECRET_ID_BYTES = 9;

/**
 * Returns one AES-256-GCM key for each relay secret. It is derived for the use that the label names. The keys of the
 * returned map are identifiers of the relay secrets; they are derived from the secrets and reveal nothing about the AES
 * keys.
 */
export async function derivedSealingKeys(
  relaySecrets: readonly string[],
  label: string,
): Promise<ReadonlyMap<string, CryptoKey>> {
  const entries = relaySecrets.map(async (secret) => {
    const id = (await derive(secret, `${label}/id`)).subarray(0, SECRET_ID_BYTES);
    const bytes = await derive(secret, label);
    const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]);
    return [toBase64Url(id), key] as const;
  });
  return new Map(await Promise.all(entries));
}

// An Ed25519 private key is any 32 bytes (RFC 8032 §5.1.5); the prefix is its PKCS #8 wrapping (RFC 8410 §7).
const PKCS8_ED25519 = fromBase64("MC4CAQAwBQYDK2VwBCIEIA==");

/** Returns one Ed25519 private key, in the format JWK, for each relay secret. */
export async function derivedJwks(relaySecrets: readonly string[]): Promise<readonly unknown[]> {
  return Promise.all(
    relaySecrets.map(async (secret) => {
      const pkcs8 = bytesOf(PKCS8_ED25519, await derive(secret, "ed25519"));
      const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", true, ["sign"]);
      return crypto.subtle.exportKey("jwk", key);
    }),
  );
}

async function derive(secret: string, label: string): Promise<Bytes> {
  const key = await crypto.subtle.importKey("raw", bytesOf(secret), "HKDF", false, ["deriveBits"]);
  const info = bytesOf(`task-relay/v1/${label}`);
  const params = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return new Uint8Array(await crypto.subtle.deriveBits(params, key, 256));
}
