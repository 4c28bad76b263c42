/** Function that tells whether a signature is valid for a content. */
type Check = (signature: Bytes, content: Bytes) => Promise<boolean>;
export type Bytes = Uint8Array<ArrayBuffer>;

/** A key of Standard Webhooks, and the version of the signatures that it checks. */
export interface VerificationKey {
  readonly version: "v1" | "v1a";
  readonly fits: Check;
}

const ED25519_KEY_BYTES = 32;
const ED25519_SIGNATURE_BYTES = 64;

/**
 * Reads secrets (`whsec_…`, for `v1` signatures) and public keys (`whpk_…`, for `v1a`).
 * @throws TypeError when there is no key, or a text is neither; the message does not contain the text.
 */
export async function readKeys(keys: string | readonly string[]): Promise<VerificationKey[]> {
  const texts = [keys].flat();
  if (texts.length === 0) throw noKey();
  return Promise.all(texts.map(readKey));
}

async function readKey(text: unknown): Promise<VerificationKey> {
  // An environment variable that is not set has the value undefined, whatever its type says.
  const [, prefix, encoded = ""] = /^\s*(whsec_|whpk_)(\S+)\s*$/.exec(String(text)) ?? [];
  const bytes = decodeBase64(encoded);
  if (prefix === "whsec_" && bytes !== null) return secretKey(bytes);
  if (prefix === "whpk_" && bytes?.length === ED25519_KEY_BYTES) return publicKey(bytes);
  throw noKey();
}

function noKey(): TypeError {
  return new TypeError("A key is a secret (whsec_ and base64) or a public key (whpk_ and base64).");
}

async function secretKey(bytes: Bytes): Promise<VerificationKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  return { version: "v1", fits: (...signed) => crypto.subtle.verify("HMAC", key, ...signed) };
}

async function publicKey(bytes: Bytes): Promise<VerificationKey> {
  const key = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  const fits: Check = async (signature, content) =>
    // For a signature of another length Workers throw; Node and browsers return false.
    signature.length === ED25519_SIGNATURE_BYTES &&
    crypto.subtle.verify("Ed25519", key, signature, content);
  return { version: "v1a", fits };
}

/** Decodes base64. @returns null when the text is empty or not base64. */
export function decodeBase64(text: string): Bytes | null {
  try {
    return text === "" ? null : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}
