import { fromBase64 } from "./encoding.ts";

/** A secret of Standard Webhooks, ready to sign and verify with. */
export interface HmacSecret {
  /** `whsec_…`, as receivers and upstreams configure it. */
  readonly text: string;
  readonly key: CryptoKey;
}

/** @param text `whsec_` and base64. @throws DOMException when it is not. */
export async function hmacSecret(text: string): Promise<HmacSecret> {
  const bytes = fromBase64(text.slice("whsec_".length));
  return { text, key: await hmacKey(bytes) };
}

/** Whether a text is `whsec_` and the base64 of 24 to 64 bytes, as Standard Webhooks asks for. */
export function isHmacSecret(text: string): boolean {
  const base64 = /^whsec_((?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(
    text,
  );
  if (base64?.[1] === undefined) return false;
  const { length } = fromBase64(base64[1]);
  return length >= 24 && length <= 64;
}

/** A key for HMAC-SHA-256. */
export async function hmacKey(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign", "verify"]);
}
