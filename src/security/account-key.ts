/**
 * API keys that the relay generates for accounts: `trk_<account>_<random digits>_<MAC>`. The MAC is an HMAC over the
 * text before it. By the MAC the relay recognises its own keys before it calls any Durable Object, so that an invented
 * key never leads to the object of an account. api/http/key-owner.ts finds the owner of a key.
 */
import { bytesOf, fromBase64, toBase64Url, toHex } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

const RANDOM_BYTES = 24;
/** Number of the random digits of a key that lists show, so that people can recognise the key. */
const SHOWN_DIGITS = 6;
/**
 * Pattern of a generated key. It captures the text that the MAC covers, the account id in this text, and the MAC.
 */
const KEY = /^(trk_([A-Za-z0-9_-]{1,64})_[0-9a-f]{48})_([A-Za-z0-9_-]{43})$/;

/** Returns a new API key for an account, and the prefix of the key, which lists show instead of the key. */
export async function generateAccountKey(
  accountId: string,
  keys: readonly CryptoKey[],
): Promise<{ readonly key: string; readonly prefix: string }> {
  const digits = toHex(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
  const text = `trk_${accountId}_${digits}`;
  const mac = toBase64Url(await signWithNewest(keys, bytesOf(text)));
  return { key: `${text}_${mac}`, prefix: `trk_${accountId}_${digits.slice(0, SHOWN_DIGITS)}` };
}

/**
 * Returns the account for which an API key was generated, if the MAC of the key is valid, even if the key was revoked.
 * The MAC is compared in constant time. Null when the MAC was made with none of `keys`.
 */
export async function accountOfKey(
  key: string,
  keys: readonly CryptoKey[],
): Promise<string | null> {
  const [, text = "", accountId = "", mac = ""] = KEY.exec(key) ?? [];
  const isOwn = mac !== "" && (await verifyAny(keys, fromBase64(mac), bytesOf(text)));
  return isOwn ? accountId : null;
}
