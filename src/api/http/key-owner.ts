import { sha256Hex } from "../../security/encoding.ts";
import type { Env } from "../../env.ts";
import { accountObject, keyObject } from "../../account/object-names.ts";
import { isolateCache } from "./isolate-cache.ts";
import { callObject } from "./object-call.ts";

/** Minimum length of an API key. Its form is free, because keys made elsewhere are imported by their hash. */
const MIN_KEY_CHARS = 16;
const MAX_KEY_CHARS = 256;

/** Cache of the owners of valid API keys, by hash. A revoked key works for up to a minute more. */
const owners = isolateCache<string>();

/**
 * Returns the account that owns an API key; null for an unknown, malformed or revoked key. The account
 * named in the key's text is not trusted, so a made-up key never reaches an account's object.
 */
export async function ownerOfKey(env: Env, key: string): Promise<string | null> {
  if (key.length < MIN_KEY_CHARS || key.length > MAX_KEY_CHARS) return null;
  const hash = await sha256Hex(key);
  const known = owners.get(hash);
  if (known !== undefined) return known;
  const accountId = await callObject(() => keyObject(env, hash).keyOwner());
  if (accountId === null) return null;
  const isValid = await callObject(() => accountObject(env, accountId).verifyKey(hash));
  if (!isValid) return null;
  owners.set(hash, accountId);
  return accountId;
}

/** Removes an API key from this isolate's cache of owners. */
export function forgetKey(hash: string): void {
  owners.delete(hash);
}
