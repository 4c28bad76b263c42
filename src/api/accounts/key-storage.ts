/**
 * Adds and removes the API keys of accounts. Each key is stored twice: as a claim (a record under the hash of the key
 * that names the key's account), and as an entry in the account's list of keys. Adding or removing a key changes the
 * claim first and the list last. When a request is interrupted in between, a repeated request completes the change.
 */
import pMap from "p-map";
import {
  claimObject,
  HASH_DIGITS,
  listenersObject,
  profileObject,
} from "../../objects/object-names.ts";
import type { StoredKey } from "../../objects/account/key-table.ts";
import { configOf } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { keyName } from "../../security/operator-key-hashes.ts";
import { forgetKey } from "../http/key-owner.ts";
import { callObject } from "../http/object-call.ts";
import { Problem, unknownAccount } from "../http/problem.ts";

const CONCURRENCY = 6;

/** An API key to add. `storeKey` gives it its id and its times. */
export type NewStoredKey = Pick<StoredKey, "sha256" | "prefix" | "label" | "role">;

/**
 * Stores an API key as a key of an account. When the account already has the key, nothing changes.
 * @throws Problem `reference_reused` when another account has the key, or when the account has it with another role.
 */
export async function storeKey(
  env: Env,
  accountId: string,
  newKey: NewStoredKey,
): Promise<StoredKey> {
  const { sha256, role } = newKey;
  const claim = await callObject(() =>
    claimObject(env, sha256).claimKeyHash(sha256, { accountId, role }),
  );
  if (claim.accountId !== accountId) throw reused("This key belongs to another account.");
  const id = crypto.randomUUID();
  const key = { id, ...newKey, role: claim.role, createdAt: Date.now(), lastUsedDay: null };
  const listed = await callObject(() => profileObject(env, accountId).addListedKey(key));
  if (listed === null) {
    // The account was deleted meanwhile, perhaps before this key was claimed.
    await releaseKey(env, accountId, sha256);
    throw unknownAccount();
  }
  forgetKey(sha256);
  if (listed.role === role) return listed;
  throw reused(`This key has the role ${listed.role}. To change it, delete the key first.`);
}

/** Removes an API key of an account. @returns false when the account has no key with this id. */
export async function removeKey(env: Env, accountId: string, id: string): Promise<boolean> {
  const list = profileObject(env, accountId);
  const hash = await callObject(() => list.keyHash(id));
  if (hash === null) return false;
  // Before the removal, so that a failure here can be repeated, and after it for a listener that connects now.
  await closeListeners(env, accountId, hash);
  await releaseKey(env, accountId, hash);
  await callObject(() => list.removeKey(id));
  await closeListeners(env, accountId, hash);
  // An import of the same key that ran meanwhile may have claimed it again, while the list lacks it.
  await releaseKey(env, accountId, hash);
  forgetKey(hash);
  return true;
}

/**
 * Removes all API keys of a deleted account, including keys that the account's list lacks because their import was
 * interrupted.
 * @param hashes hashes of the keys in the account's list.
 */
export async function removeKeys(
  env: Env,
  accountId: string,
  hashes: readonly string[],
): Promise<void> {
  const release = (digit: string) =>
    callObject(() => claimObject(env, digit).releaseKeyHashes(accountId));
  await pMap(HASH_DIGITS, release, { concurrency: CONCURRENCY });
  await closeListeners(env, accountId, null);
  await callObject(() => profileObject(env, accountId).forgetKeys());
  for (const hash of hashes) forgetKey(hash);
}

/**
 * Disconnects listeners of an account (programs that receive its callbacks over a WebSocket). Does nothing when the
 * relay accepts no listeners.
 * @param hash hash of an API key, to disconnect only the listeners that used this key; null to disconnect all.
 */
async function closeListeners(env: Env, accountId: string, hash: string | null): Promise<void> {
  if (configOf(env)?.isListenOn !== true) return;
  const key = hash === null ? null : keyName(hash);
  await callObject(() => listenersObject(env, accountId).closeListeners(key));
}

function releaseKey(env: Env, accountId: string, hash: string): Promise<void> {
  return callObject(() => claimObject(env, hash).releaseKeyHash(hash, accountId));
}

function reused(detail: string): Problem {
  return new Problem("reference_reused", { detail });
}
