import { type Bytes, sha256, toHex } from "./encoding.ts";
import type { OperatorKey, OperatorRole } from "./roles.ts";

/** Number of hex digits of a key's SHA-256 that are used as the name of a key without a label. */
const NAME_DIGITS = 8;

/** An operator key in the form in which the key of a request is compared with it. */
export interface HashedKey {
  readonly digest: Bytes;
  readonly role: OperatorRole;
  /**
   * Name of the key for logs and records: its label or, without a label, the first eight hex digits of its SHA-256.
   */
  readonly name: string;
}

/** Returns the operator keys, each with its SHA-256 in place of the key itself. */
export async function hashedKeysOf(keys: readonly OperatorKey[]): Promise<readonly HashedKey[]> {
  return Promise.all(
    keys.map(async ({ secret, role, label }) => {
      const digest = await sha256(secret);
      return { digest, role, name: label ?? keyName(toHex(digest)) };
    }),
  );
}

/**
 * Returns the operator key that equals `given`. Null when there is none. `given` is compared with every key, each time
 * in constant time, so that the duration reveals nothing about the keys.
 */
export async function findKey(
  keys: readonly HashedKey[],
  given: string,
): Promise<HashedKey | null> {
  // Digests all have the same length, which the comparison requires.
  const digest = await sha256(given);
  const equal = keys.filter((key) => crypto.subtle.timingSafeEqual(digest, key.digest));
  return equal[0] ?? null;
}

/** Returns the name of a key that has no label, from the SHA-256 of the key in hex. */
export function keyName(sha256Hex: string): string {
  return sha256Hex.slice(0, NAME_DIGITS);
}
