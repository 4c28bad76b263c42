import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync } from "node:crypto";

// An Ed25519 private key is any 32 bytes (RFC 8032 §5.1.5), here in PKCS #8 (RFC 8410 §7).
const PKCS8_ED25519 = Buffer.from("MC4CAQAwBQYDK2VwBCIEIA==", "base64");

/** Derives the keys and secrets that the relay derives from a secret, without the relay's code. */
export function derived(relaySecret: string, label: string): Buffer {
  return Buffer.from(hkdfSync("sha256", relaySecret, "", `task-relay/v1/${label}`, 32));
}

export function whsec(bytes: Buffer): string {
  return `whsec_${bytes.toString("base64")}`;
}

/** Returns the JWK member `x` of the public key. */
export function publicHalf(seed: Buffer): string {
  const key = Buffer.concat([PKCS8_ED25519, seed]);
  const privateKey = createPrivateKey({ key, format: "der", type: "pkcs8" });
  return createPublicKey(privateKey).export({ format: "jwk" }).x ?? "";
}

export function hookToken(hookKey: Buffer, connection: string, taskId: string): string {
  return createHmac("sha256", hookKey).update(`${connection}\n${taskId}`).digest("base64url");
}

/** Returns the encodings in which the bytes could leak. */
export function spellingsOfBytes(bytes: Buffer): readonly string[] {
  const base64 = bytes.toString("base64").replace(/=+$/, "");
  const hex = bytes.toString("hex");
  const numbers = [...bytes];
  const urlSafe = base64.replaceAll("+", "-").replaceAll("/", "_");
  return [
    base64,
    urlSafe,
    encodeURIComponent(base64),
    hex,
    hex.toUpperCase(),
    numbers.join(","),
    numbers.join(", "),
  ];
}

/** Returns a text, its halves, and encodings of it and of its hash. */
export function spellingsOfText(secret: string): readonly string[] {
  const half = Math.ceil(secret.length / 2);
  return [
    secret,
    secret.slice(0, half),
    secret.slice(-half),
    encodeURIComponent(secret),
    ...spellingsOfBytes(Buffer.from(secret)),
    ...spellingsOfBytes(createHash("sha256").update(secret).digest()),
  ];
}
