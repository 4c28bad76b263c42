import { serialize } from "node:v8";

/** Largest size of a key with its value in an object of Cloudflare, in bytes. Local workerd stores more. */
const PLATFORM_LIMIT_BYTES = 2_000_000;
/** Length of the longest key that the relay uses, in bytes. */
const KEY_BYTES = 10;

/**
 * Requires that a value is small enough to be stored. @throws the error of an object's storage when it is too
 * large.
 */
export function requireStorable(value: unknown): void {
  const { length } = serialize(value);
  if (length + KEY_BYTES > PLATFORM_LIMIT_BYTES) {
    throw new Error("string or blob too big: SQLITE_TOOBIG");
  }
}
