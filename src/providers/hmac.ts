import { fromBase64 } from "../security/encoding.ts";
import { hmacKey } from "../security/hmac.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const MAX_SIGNATURES_READ = 16;

/**
 * Whether one of `signatures` is the HMAC-SHA-256 of `content` under the text of `secret`. What could
 * not be decoded is null. The comparison is the platform's, in constant time.
 */
export async function isHmacOf(
  content: Bytes,
  signatures: readonly (Bytes | null)[],
  secret: string,
): Promise<boolean> {
  // An empty key is no secret, and some runtimes refuse to import it.
  if (secret === "") return false;
  const key = await hmacKey(bytesOf(secret));
  const checks = signatures
    .slice(0, MAX_SIGNATURES_READ)
    .map(async (given) => given !== null && crypto.subtle.verify("HMAC", key, given, content));
  return (await Promise.all(checks)).includes(true);
}

/** `length` bytes written as hex; null: `text` is not that. */
export function hexBytes(text: string | undefined, length: number): Bytes | null {
  if (text?.length !== 2 * length || !/^[\da-f]*$/i.test(text)) return null;
  return Uint8Array.from({ length }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

/** An HMAC-SHA-256 written as base64 with padding; null: `text` is not that. */
export function base64Hmac(text: string | null): Bytes | null {
  return /^[A-Za-z\d+/]{43}=$/.test(text ?? "") ? fromBase64(text ?? "") : null;
}

/** UTF-8 of `head`, and `tail` as it is. */
export function bytesOf(head: string, tail: Uint8Array = new Uint8Array()): Bytes {
  const start = new TextEncoder().encode(head);
  const bytes = new Uint8Array(start.length + tail.length);
  bytes.set(start);
  bytes.set(tail, start.length);
  return bytes;
}
