import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync } from "node:crypto";

// An Ed25519 private key is any 32 bytes (RFC 8032 §5.1.5); the prefix is its PKCS #8 wrapping (RFC 8410 §7).
const PKCS8_ED25519 = Buffer.from("MC4CAQAwBQYDK2VwBCIEIA==", "base64");

/** What a relay derives from a secret, made here without any of its code. */
export function derived(relaySecret: string, label: string): Buffer {
  return Buffer.from(hkdfSync("sha256", relaySecret, "", `task-relay/v1/${label}`, 32));
}

export function whsec(bytes: Buffer): string {
  return `whsec_${bytes.toString("base64")}`;
}

/** The member `x` of the public key of a private one. */
export function publicHalf(seed: Buffer): string {
  const key = Buffer.concat([PKCS8_ED25519, seed]);
  const privateKey = createPrivateKey({ key, format: "der", type: "pkcs8" });
  return createPublicKey(privateKey).export({ format: "jwk" }).x ?? "";
}

export function hookToken(hookKey: Buffer, connection: string, taskId: string): string {
  return createHmac("sha256", hookKey).update(`${connection}\n${taskId}`).digest("base64url");
}

/** The spellings in which bytes leak: as text encodings, and as a list of numbers. */
export function spellingsOfBytes(bytes: Buffer): readonly string[] {
  const base64 = bytes.toString("base64").replace(/=+$/, "");
  return [
    base64,
    base64.replaceAll("+", "-").replaceAll("/", "_"),
    encodeURIComponent(base64),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    [...bytes].join(","),
    [...bytes].join(", "),
  ];
}

/** A secret text: whole, in other encodings, the longer part of it, and what it is looked up by. */
export function spellingsOfText(secret: string): readonly string[] {
  const hash = createHash("sha256").update(secret).digest();
  return [
    secret,
    secret.slice(0, Math.ceil(secret.length / 2)),
    secret.slice(-Math.ceil(secret.length / 2)),
    encodeURIComponent(secret),
    ...spellingsOfBytes(Buffer.from(secret)),
    ...spellingsOfBytes(hash),
  ];
}
