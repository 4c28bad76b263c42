import type { Reader } from "../../core/views/reader.ts";
import { sha256, toHex } from "../../security/encoding.ts";

/**
 * Returns the id of a new task, derived from the caller's `Idempotency-Key` so that a repeated registration finds the
 * same task. The id is a UUIDv8 (RFC 9562 §5.8) made from a SHA-256 hash of the kind of caller (operator or account)
 * and the key.
 */
export async function idOfKey(caller: Reader, key: string): Promise<string> {
  const digest = await sha256(`${caller}\n${key}`);
  const hex = toHex(digest.slice(0, 16).map(withVersion));
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function withVersion(byte: number, index: number): number {
  if (index === 6) return (byte & 0x0f) | 0x80;
  return index === 8 ? (byte & 0x3f) | 0x80 : byte;
}
