import { type Bytes, bytesOf, fromBase64 } from "../encoding.ts";
import type { Signer } from "../signers.ts";
import type { SignedMessage } from "../signature.ts";

/** One signature of a `webhook-signature` header: its scheme (`v1` or `v1a`), and the signature in base64. */
export interface Entry {
  readonly scheme: string;
  readonly base64: string;
}

/** Largest number of signatures of one header that are checked. */
const MAX_ENTRIES = 16;
const BASE64 = /^[A-Za-z\d+/]+={0,2}$/;

/** Returns the signatures of a `webhook-signature` header, at most 16. */
export function entriesOf(header: string): readonly Entry[] {
  const found = header.matchAll(/(v1a?),([^\s,]+)/g);
  const entries = Array.from(found, ([, scheme = "", base64 = ""]) => ({ scheme, base64 }));
  return entries.slice(0, MAX_ENTRIES);
}

/**
 * Returns a `webhook-signature` header after undoing the changes that URL encoding, form decoding and base64url make.
 */
export function repaired(header: string): string {
  return header
    .replaceAll(/%2c/gi, ",")
    .replaceAll(/%2b/gi, "+")
    .replaceAll(/%2f/gi, "/")
    .replaceAll(/%3d/gi, "=")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replaceAll(/(v1a?,[\w+/]+) (?!v1a?,)(?=[\w+/])/g, "$1+")
    .replaceAll(/(v1,[A-Za-z\d+/]{43})(?![A-Za-z\d+/=])/g, "$1=")
    .replaceAll(/(v1a,[A-Za-z\d+/]{86})(?![A-Za-z\d+/=])/g, "$1==");
}

/**
 * Returns those signers with whose secret or key at least one of the signatures in `entries` is valid for the message.
 */
export async function validSigners(
  entries: readonly Entry[],
  message: SignedMessage,
  signers: readonly Signer[],
): Promise<readonly Signer[]> {
  const content = bytesOf(`${message.id}.${message.timestamp}.`, message.body);
  const checks = signers.map(async ({ name, key }) => {
    const own = entries.filter(({ scheme }) => scheme === name.scheme);
    const verified = own.map(({ base64 }) => isValid(key, base64, content));
    return (await Promise.all(verified)).includes(true);
  });
  const areValid = await Promise.all(checks);
  return signers.filter((_, at) => areValid[at]);
}

async function isValid(key: CryptoKey, base64: string, content: Bytes): Promise<boolean> {
  if (!BASE64.test(base64) || base64.length % 4 !== 0) return false;
  return crypto.subtle.verify(key.algorithm.name, key, fromBase64(base64), content);
}
