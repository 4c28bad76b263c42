import { sha256Hex } from "../../security/encoding.ts";
import type { Env } from "../../env.ts";
import { keyObject, profileObject } from "../../account/object-names.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { withTimeout } from "../../timeout.ts";
import { isolateCache } from "./isolate-cache.ts";
import { callObject } from "./object-call.ts";

/** Minimum length of an API key. Its form is free, because keys made elsewhere are imported by their hash. */
const MIN_KEY_CHARS = 16;
const MAX_KEY_CHARS = 256;

const NOTE_TIMEOUT_MS = 2 * SECOND_MS;

/** Cache of the owners of valid API keys, by hash. A revoked key works for up to a minute more. */
const owners = isolateCache<string>();

/**
 * Returns the account that owns an API key. The account named in the key's text is not trusted, so a
 * made-up key reaches the object of that key alone. Null means that the key is unknown, malformed or
 * revoked.
 */
export async function ownerOfKey(env: Env, key: string): Promise<string | null> {
  if (key.length < MIN_KEY_CHARS || key.length > MAX_KEY_CHARS) return null;
  const hash = await sha256Hex(key);
  const known = owners.get(hash);
  if (known !== undefined) return known;
  const today = Math.floor(Date.now() / DAY_MS);
  const use = await callObject(() => keyObject(env, hash).useKey(today));
  if (use === null) return null;
  const { accountId } = use;
  if (use.isFirstOfDay) await noteUse(env, accountId, hash, today);
  owners.set(hash, accountId);
  return accountId;
}

/**
 * Stores the day of a key's use in the list of keys of its account. Should this fail, the list misses that
 * day.
 */
function noteUse(env: Env, accountId: string, hash: string, today: number): Promise<void> {
  const call = async () => profileObject(env, accountId).noteKeyUse(hash, today);
  return withTimeout("key use", call, undefined, NOTE_TIMEOUT_MS);
}

/** Removes an API key from this isolate's cache of owners. */
export function forgetKey(hash: string): void {
  owners.delete(hash);
}
