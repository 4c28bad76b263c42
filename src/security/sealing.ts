/**
 * Encryption of secret texts by AES-256-GCM, with keys that are derived from `RELAY_SECRET`, another for each use. An
 * encrypted ("sealed") text can be decrypted only for the place for which it was encrypted. It is stored with an
 * identifier of the relay secret that was used, so that this secret is found even after the order of the relay secrets
 * has changed.
 */
import type { SealedText } from "../core/record/sealed-text.ts";
import { type Bytes, bytesOf, fromBase64Url, fromBase64, toBase64Url } from "./encoding.ts";

/**
 * Keys that encrypt texts of one kind, by the identifiers of their relay secrets. The first one, the newest, encrypts
 * and decrypts; the others only decrypt.
 */
export type SealingKeys = ReadonlyMap<string, CryptoKey>;

/** Length of the nonce in bytes. NIST SP 800-38D recommends 12 bytes for random nonces of GCM. */
const NONCE_BYTES = 12;
const CIPHERTEXT = /^[\w-]+$/;

/**
 * Encrypts a text with the newest of `keys`.
 * @param place text that names the only place for which the sealed text can be decrypted.
 * @throws Error when there is no key to encrypt with.
 */
export async function sealText(
  text: string,
  place: string,
  keys: SealingKeys,
): Promise<SealedText> {
  const [newest] = keys;
  if (newest === undefined) throw new Error("no key to seal with");
  const [sealedWith, sealingKey] = newest;
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt(algorithm(nonce, place), sealingKey, bytesOf(text));
  return { sealedWith, nonce: toBase64Url(nonce), ciphertext: toBase64Url(sealed) };
}

/**
 * Decrypts a text. Null when the secret with which it was encrypted is not among `keys`, when it was encrypted for
 * another place, and when it was changed.
 */
export async function openText(
  { sealedWith, nonce: nonceText, ciphertext }: SealedText,
  place: string,
  keys: SealingKeys,
): Promise<string | null> {
  const key = keys.get(sealedWith);
  const nonce = fromBase64Url(nonceText, NONCE_BYTES);
  if (key === undefined || nonce === null || !CIPHERTEXT.test(ciphertext)) return null;
  try {
    const opened = await crypto.subtle.decrypt(
      algorithm(nonce, place),
      key,
      fromBase64(ciphertext),
    );
    return new TextDecoder().decode(opened);
  } catch {
    return null;
  }
}

function algorithm(nonce: Bytes, place: string) {
  return { name: "AES-GCM", iv: nonce, additionalData: bytesOf(place) };
}
