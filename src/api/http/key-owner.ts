import { accountOfKey } from "../../security/account-key.ts";
import { sha256Hex } from "../../security/encoding.ts";
import type { AccountRole } from "../../security/roles.ts";
import type { Env } from "../../env.ts";
import { claimObject, profileObject } from "../../objects/object-names.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { callObject } from "./object-call.ts";
import { countFailedCredential } from "./rate-limit.ts";

/**
 * Minimum length of an API key in characters. An API key may have any characters, because operators may import the
 * hashes of keys that another system has generated.
 */
export const MIN_KEY_CHARS = 16;
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
 * Cache of the owners of valid API keys, by the hash of the key. A key that is revoked in another isolate works in
 * this isolate for up to a minute more.
 */
const owners = isolateCache<KeyOwner>();

/**
 * Cache of the hashes of keys that no account owns. It is separate from the cache of valid keys, so that guessed keys
 * displace no valid key. A key that is imported in another isolate is refused in this isolate for up to a minute
 * more.
 */
const unknownHashes = isolateCache<true>();

/**
 * Returns the owner of an API key. A key that the relay has generated names its account and contains a MAC (a proof
 * that the relay has made it); it is looked up in that account's list of keys. Any other key is looked up in one of 16
 * objects that serve all accounts, so that guessed keys create no objects. Before such a lookup, the key counts as a
 * failed credential of its sender, which limits the number of guesses.
 * @param macKeys keys that make and check the MACs in generated API keys.
 * @param headers headers of the request; one of them has the IP address of the sender.
 * @throws Problem `rate_limited` when too many credentials from this address have failed.
 * @returns null when the key is unknown, malformed or revoked.
 */
export async function ownerOfKey(
  env: Env,
  macKeys: readonly CryptoKey[],
  key: string,
  headers: Headers,
): Promise<KeyOwner | null> {
  const hash = await sha256Hex(key);
  const known = owners.get(hash);
  if (known !== undefined) return known;
  const accountId = await accountOfKey(key, macKeys);
  if (accountId === null) await countFailedCredential(headers, env);
  if (!hasKeyLength(key) || unknownHashes.has(hash)) return null;
  const today = Math.floor(Date.now() / DAY_MS);
  const owner =
    accountId === null
      ? await findClaim(env, hash, today)
      : await findListed(env, accountId, hash, today);
  if (owner === null) unknownHashes.set(hash, true);
  else owners.set(hash, owner);
  return owner;
}

/**
 * Returns the owner of an API key, given the hash of the key: a session of the console stores only this hash.
 * @returns null when the account no longer has the key.
 */
export async function ownerOfHash(
  env: Env,
  accountId: string,
  hash: string,
): Promise<KeyOwner | null> {
  const known = owners.get(hash);
  // A revoked key may have been imported into another account since.
  if (known?.accountId === accountId) return known;
  const owner = await findListed(env, accountId, hash, Math.floor(Date.now() / DAY_MS));
  if (owner !== null) owners.set(hash, owner);
  return owner;
}

function hasKeyLength({ length }: string): boolean {
  return length >= MIN_KEY_CHARS && length <= MAX_KEY_CHARS;
}

/**
 * Removes an API key from the caches of this isolate. The next request with this key then looks up its owner in a
 * Durable Object.
 */
export function forgetKey(hash: string): void {
  owners.delete(hash);
  unknownHashes.delete(hash);
}

/**
 * Looks up an API key by its hash in the key list of an account, and stores the day of its use there.
 * @param today number of the day, counted from 1970-01-01 UTC.
 * @returns null when the list of the account does not have the key.
 */
async function findListed(
  env: Env,
  accountId: string,
  hash: string,
  today: number,
): Promise<KeyOwner | null> {
  const list = profileObject(env, accountId);
  const role = await callObject(() => list.useListedKey(hash, today));
  return role === null ? null : { accountId, role, hash };
}

/**
 * Looks up the owner of an API key that was imported, or whose MAC (the proof in a generated key) none of the
 * configured secrets has made.
 */
async function findClaim(env: Env, hash: string, today: number): Promise<KeyOwner | null> {
  const use = await callObject(() => claimObject(env, hash).useKeyHash(hash, today));
  if (use === null) return null;
  const { accountId, role, isFirstOfDay } = use;
  if (isFirstOfDay) await noteUse(env, accountId, hash, today);
  return { accountId, role, hash };
}

/**
 * Stores in the account's list of keys that a key was used on this day. When storing fails, the list does not show this
 * use of the key.
 */
async function noteUse(env: Env, accountId: string, hash: string, today: number): Promise<void> {
  const call = async () => await profileObject(env, accountId).useListedKey(hash, today);
  await withTimeout("key use", call, null, NOTE_TIMEOUT_MS);
}
