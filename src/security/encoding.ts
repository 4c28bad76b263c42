/**
 * Conversion between bytes and text, and SHA-256. `fromHex` and `fromBase64Url` are strict, because they read
 * signatures from others: they accept only one spelling of the same bytes, except that hex digits may be in upper or
 * lower case. `macFromBase64` in hmac.ts is strict for the same reason.
 */
import {
  base64ToUint8Array,
  concatUint8Arrays,
  hexToUint8Array,
  stringToUint8Array,
  uint8ArrayToBase64,
  uint8ArrayToHex,
} from "uint8array-extras";

/** Bytes that have a buffer of their own, as Web Crypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>;

declare global {
  interface Uint8ArrayConstructor {
    /** The runtime's own decoder of base64. Absent in Node 24. */
    readonly fromBase64?: (text: string) => Bytes;
  }
}

/** Returns bytes as base64, with the standard alphabet and padding (RFC 4648 §4). */
export function toBase64(bytes: Uint8Array | ArrayBuffer): string {
  return uint8ArrayToBase64(bytes);
}

/** Returns bytes as base64url, without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array | ArrayBuffer): string {
  return uint8ArrayToBase64(bytes, { urlSafe: true });
}

/**
 * Returns the bytes that a text contains as base64 or base64url, with or without padding.
 * @throws Error when the text has other characters.
 */
export function fromBase64(text: string): Bytes {
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  // The decoder of the runtime is a hundred times faster.
  return Uint8Array.fromBase64?.(standard) ?? base64ToUint8Array(standard);
}

/** Returns bytes as lower-case hex. */
export function toHex(bytes: Uint8Array | ArrayBuffer): string {
  return uint8ArrayToHex(bytes);
}

/**
 * Returns the bytes that a text contains as hex, in upper or lower case, if they are exactly `length` bytes. Null for
 * any other text.
 */
export function fromHex(text: string | undefined, length: number): Bytes | null {
  const isHex = text?.length === 2 * length && /^[\da-f]*$/i.test(text);
  return isHex ? hexToUint8Array(text) : null;
}

/**
 * Returns the bytes that a text contains as base64url without padding, if they are exactly `length` bytes. Null for any
 * other text.
 */
export function fromBase64Url(text: string | null, length: number): Bytes | null {
  if (text === null || !/^[\w-]*$/.test(text) || text.length !== Math.ceil((4 * length) / 3))
    return null;
  const bytes = fromBase64(text);
  // The last character has bits that decoding ignores, so different texts can have the same bytes.
  return toBase64Url(bytes) === text ? bytes : null;
}

/** Joins texts, encoded as UTF-8, and bytes to one sequence of bytes. */
export function bytesOf(...parts: readonly (string | Uint8Array)[]): Bytes {
  if (parts.every((part) => typeof part === "string")) return stringToUint8Array(parts.join(""));
  return concatUint8Arrays(
    parts.map((part) => (typeof part === "string" ? stringToUint8Array(part) : part)),
  );
}

/** Returns the SHA-256 of bytes, or of a text as UTF-8. */
export async function sha256(content: string | Bytes): Promise<Bytes> {
  const bytes = typeof content === "string" ? bytesOf(content) : content;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Returns the SHA-256 of bytes, or of a text as UTF-8, in lower-case hex. */
export async function sha256Hex(content: string | Bytes): Promise<string> {
  return toHex(await sha256(content));
}
