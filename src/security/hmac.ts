/**
 * HMAC-SHA-256 secrets, and the only functions that compare signatures; Web Crypto compares in constant time. A
 * signature may be valid under any of several keys, so that a key can be replaced while the old one is still in use.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, bytesOf, fromBase64 } from "./encoding.ts";

/** A secret of Standard Webhooks, imported so that it can sign and verify. */
export interface HmacSecret {
  /** Text of the secret, `whsec_…`, as receivers and upstreams configure it. */
  readonly text: string;
  readonly key: CryptoKey;
}

/**
 * An HMAC-SHA-256 key that is also stored as bytes, so that synchronous code can sign with it. Web Crypto only signs
 * asynchronously.
 */
export interface ImmediateHmacKey {
  readonly bytes: Bytes;
  /** The HMAC key in the form that Web Crypto needs to verify signatures. */
  readonly key: CryptoKey;
}

/**
 * Largest number of signatures in one header that are checked. Without this limit, a header with many signatures
 * could make the relay compute an HMAC for each of them.
 */
const MAX_SIGNATURES_READ = 16;

/**
 * Imports a secret of Standard Webhooks.
 * @param text the secret: `whsec_` followed by base64.
 * @throws Error when the base64 is not valid.
 */
export async function hmacSecret(text: string): Promise<HmacSecret> {
  const bytes = fromBase64(text.slice("whsec_".length));
  return { text, key: await hmacKey(bytes) };
}

/** Tells whether a text is a secret of Standard Webhooks, i.e. `whsec_` followed by the base64 of 24 to 64 bytes. */
export function isHmacSecret(text: string): boolean {
  const base64 = /^whsec_((?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(
    text,
  );
  if (base64?.[1] === undefined) return false;
  const { length } = fromBase64(base64[1]);
  return length >= 24 && length <= 64;
}

/** Imports a key for HMAC-SHA-256. */
export async function hmacKey(bytes: Bytes): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign", "verify"]);
}

/**
 * Returns an HMAC made with the first key, which is the newest.
 * @throws Error when there is no key.
 */
export async function signWithNewest(keys: readonly CryptoKey[], content: Bytes): Promise<Bytes> {
  const [newest] = keys;
  if (newest === undefined) throw new Error("no key to sign with");
  return new Uint8Array(await crypto.subtle.sign("HMAC", newest, content));
}

/**
 * Returns an HMAC made with the first key, which is the newest, like `signWithNewest` but synchronously.
 * @throws Error when there is no key.
 */
export function signImmediately(keys: readonly ImmediateHmacKey[], content: Bytes): Uint8Array {
  const [newest] = keys;
  if (newest === undefined) throw new Error("no key to sign with");
  return hmac(sha256, newest.bytes, content);
}

/**
 * Tells whether `mac` is a valid signature of `content` under one of the keys. The signature is an HMAC or an Ed25519
 * signature, depending on the key.
 */
export async function verifyAny(
  keys: readonly CryptoKey[],
  mac: Bytes,
  content: Bytes,
): Promise<boolean> {
  const checks = keys.map((key) => crypto.subtle.verify(key.algorithm.name, key, mac, content));
  return (await Promise.all(checks)).includes(true);
}

/** Function that returns the content that a signature covers. It is called only if a signature can be valid. */
export type SignedContent = () => Promise<Bytes>;

/**
 * Tells whether one of the first 16 signatures of a header is valid under one of `keys`. A signature that could not be
 * decoded is given as null and counts as one of the 16.
 */
export async function verifyAnyOf(
  keys: readonly CryptoKey[],
  signatures: readonly (Bytes | null)[],
  content: SignedContent,
): Promise<boolean> {
  const given = signatures.slice(0, MAX_SIGNATURES_READ).filter((each) => each !== null);
  if (given.length === 0) return false;
  const signed = await content();
  const checks = given.map((each) => verifyAny(keys, each, signed));
  return (await Promise.all(checks)).includes(true);
}

/**
 * Tells whether one of the first 16 signatures of a header is valid under the key whose bytes are the UTF-8 of
 * `secret`. With an empty secret no signature is valid.
 */
export async function verifyWithText(
  secret: string,
  signatures: readonly (Bytes | null)[],
  content: SignedContent,
): Promise<boolean> {
  // Some runtimes refuse to import an empty key.
  if (secret === "") return false;
  return verifyAnyOf([await hmacKey(bytesOf(secret))], signatures, content);
}

/** Returns the bytes of an HMAC-SHA-256 that a text contains as base64 with padding. Null for any other text. */
export function macFromBase64(text: string | null | undefined): Bytes | null {
  return /^[A-Za-z\d+/]{43}=$/.test(text ?? "") ? fromBase64(text ?? "") : null;
}
