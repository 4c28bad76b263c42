import { sha256Hex } from "../../security/encoding.ts";
import type { AccountRole } from "../../security/roles.ts";
import type { Env } from "../../env.ts";
import { keyObject, profileObject } from "../../account/object-names.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { withTimeout } from "../../timeout.ts";
import { isolateCache } from "./isolate-cache.ts";
import { callObject } from "./object-call.ts";

/**
 * Minimum length of an API key in characters. Any characters are allowed, because operators may import keys
 * that another system has generated, by their hash.
 */
const MIN_KEY_CHARS = 16;
const MAX_KEY_CHARS = 256;

const NOTE_TIMEOUT_MS = 2 * SECOND_MS;

/** The account that owns an API key, and what the key permits. */
export interface KeyOwner {
  readonly accountId: string;
  readonly role: AccountRole;
  /** SHA-256 of the key, in lower-case hex. */
  readonly hash: string;
}

/**
 * Cache of the accounts that own valid API keys, by the hash of the key. A key that was revoked in another
 * isolate works in this one for up to a minute more.
 */
const owners = isolateCache<KeyOwner>();

/**
 * Returns the account that owns an API key. Only the object of the key itself is asked: the account id in the
 * text of the key is not trusted, so a request with a made-up key reaches no account's object. Null means
 * that the key is unknown, malformed or revoked.
 */
export async function ownerOfKey(env: Env, key: string): Promise<KeyOwner | null> {
  if (key.length < MIN_KEY_CHARS || key.length > MAX_KEY_CHARS) return null;
  const hash = await sha256Hex(key);
  const known = owners.get(hash);
  if (known !== undefined) return known;
  const today = Math.floor(Date.now() / DAY_MS);
  const use = await callObject(() => keyObject(env, hash).useKey(today));
  if (use === null) return null;
  const { accountId } = use;
  if (use.isFirstOfDay) await noteUse(env, accountId, hash, today);
  const owner: KeyOwner = { accountId, role: "full", hash };
  owners.set(hash, owner);
  return owner;
}

/**
 * Stores the day of a key's use in the account's list of keys. When this fails, the list does not show this
 * use.
 */
function noteUse(env: Env, accountId: string, hash: string, today: number): Promise<void> {
  const call = async () => profileObject(env, accountId).noteKeyUse(hash, today);
  return withTimeout("key use", call, undefined, NOTE_TIMEOUT_MS);
}

/**
 * Removes an API key from this isolate's cache of key owners, so that the next request with it asks the key's
 * object.
 */
export function forgetKey(hash: string): void {
  owners.delete(hash);
}
