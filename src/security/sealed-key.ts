/**
 * Encryption of the keys that customers have at upstreams, by AES-256-GCM with a key that is derived from
 * `RELAY_SECRET` for this use alone. An encrypted ("sealed") key can be decrypted only for the task and the connection
 * for which it was encrypted. It is stored with an identifier of the relay secret that was used, so that this secret is
 * found even after the order of the relay secrets has changed.
 */
import type { SealedKey } from "../core/record/customer-key.ts";
import { type Bytes, bytesOf, fromBase64Url, fromBase64, toBase64Url } from "./encoding.ts";

/**
 * Keys that encrypt the keys of customers, by the identifiers of their relay secrets. The first one, the newest,
 * encrypts and decrypts; the others only decrypt.
 */
export type SealingKeys = ReadonlyMap<string, CryptoKey>;

/** The task and the connection for which a customer's key is encrypted. */
export interface KeyPlace {
  readonly taskId: string;
  readonly connection: string;
}

/** Length of the nonce in bytes. NIST SP 800-38D recommends 12 bytes for random nonces of GCM. */
const NONCE_BYTES = 12;
const CIPHERTEXT = /^[\w-]+$/;

/**
 * Encrypts a customer's key with the newest of `keys`.
 * @throws Error when there is no key to encrypt with.
 */
export async function sealKey(key: string, place: KeyPlace, keys: SealingKeys): Promise<SealedKey> {
  const [newest] = keys;
  if (newest === undefined) throw new Error("no key to seal with");
  const [sealedWith, sealingKey] = newest;
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt(algorithm(nonce, place), sealingKey, bytesOf(key));
  return { sealedWith, nonce: toBase64Url(nonce), ciphertext: toBase64Url(sealed) };
}

/**
 * Decrypts a customer's key. Null when the secret with which it was encrypted is not among `keys`, when it was
 * encrypted for another task or connection, and when it was changed.
 */
export async function openKey(
  { sealedWith, nonce: nonceText, ciphertext }: SealedKey,
  place: KeyPlace,
  keys: SealingKeys,
): Promise<string | null> {
  const key = keys.get(sealedWith);
  const nonce = fromBase64Url(nonceText, NONCE_BYTES);
  if (key === undefined || nonce === null || !CIPHERTEXT.test(ciphertext)) return null;
  try {
    const parameters = algorithm(nonce, place);
    const opened = await crypto.subtle.decrypt(parameters, key, fromBase64(ciphertext));
    return new TextDecoder().decode(opened);
  } catch {
    return null;
  }
}

function algorithm(nonce: Bytes, { taskId, connection }: KeyPlace) {
  return { name: "AES-GCM", iv: nonce, additionalData: bytesOf(`${connection}\n${taskId}`) };
}
