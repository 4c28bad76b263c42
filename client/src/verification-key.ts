/** Tells whether a signature fits the content. */
type Check = (signature: Bytes, content: Bytes) => Promise<boolean>;
export type Bytes = Uint8Array<ArrayBuffer>;

/** A key of Standard Webhooks, and the version of the signatures that it checks. */
export interface VerificationKey {
  readonly version: "v1" | "v1a";
  readonly fits: Check;
}

const ED25519_KEY_BYTES = 32;

/**
 * Reads a secret (`whsec_…`, for `v1` signatures) or a public key (`whpk_…`, for `v1a`).
 * @throws TypeError when the text is neither; the message does not contain it.
 */
export async function readKey(text: string): Promise<VerificationKey> {
  const [, prefix, encoded = ""] = /^(whsec_|whpk_)(.+)$/s.exec(text.trim()) ?? [];
  const bytes = decodeBase64(encoded);
  if (prefix === "whsec_" && bytes !== null) return secretKey(bytes);
  if (prefix === "whpk_" && bytes?.length === ED25519_KEY_BYTES) return publicKey(bytes);
  throw new TypeError("A key is a secret (whsec_ and base64) or a public key (whpk_ and base64).");
}

async function secretKey(bytes: Bytes): Promise<VerificationKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  return { version: "v1", fits: (...signed) => crypto.subtle.verify("HMAC", key, ...signed) };
}

async function publicKey(bytes: Bytes): Promise<VerificationKey> {
  const key = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  return { version: "v1a", fits: (...signed) => crypto.subtle.verify("Ed25519", key, ...signed) };
}

/** @returns null when the text is not base64, or is empty. */
export function decodeBase64(text: string): Bytes | null {
  try {
    return text === "" ? null : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}
