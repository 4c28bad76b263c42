import { sha256Hex, toHex } from "../../security/encoding.ts";
import { toSeconds } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { keyObject, profileObject } from "../../account/object-names.ts";
import type { StoredKey } from "../../account/key-table.ts";
import { callProfile, requireAccount } from "./account-client.ts";
import { NewKey } from "./account-schemas.ts";
import { json } from "../http/answer.ts";
import { forgetKey } from "../http/key-owner.ts";
import { Problem, unknownAccount } from "../http/problem.ts";
import { callObject } from "../http/object-call.ts";
import { bodyRoute, route } from "../http/route.ts";

const DAY_S = 86_400;

export const createKey = bodyRoute(
  {
    method: "POST",
    path: "/v1/accounts/{account}/keys",
    access: "administer",
    summary: "Create an API key, shown once, or import one by its SHA-256",
    answers: { 201: "the key" },
    errors: ["not_found", "reference_reused"],
  },
  NewKey,
  async ({ env, params: { account: accountId }, body: { label, sha256 } }) => {
    await requireAccount(env, accountId);
    if (sha256 !== null) {
      const prefix = `sha256:${sha256.slice(0, 8)}`;
      return json(keyView(await addKey(env, accountId, sha256, prefix, label)), 201);
    }
    const { key, prefix } = generateKey(accountId);
    const added = await addKey(env, accountId, await sha256Hex(key), prefix, label);
    return json({ ...keyView(added), key }, 201);
  },
);

export const listKeys = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/keys",
    access: "keys",
    rateLimit: "LIMIT_LISTS",
    summary: "List API keys without the keys themselves",
    answers: { 200: "the keys" },
    errors: ["not_found"],
  },
  async ({ env, params: { account } }) => {
    const keys = await callProfile(env, account, (object) => object.keys());
    return json({ data: keys.map(keyView) });
  },
);

export const revokeKey = route(
  {
    method: "DELETE",
    path: "/v1/accounts/{account}/keys/{key}",
    access: "administer",
    summary: "Revoke an API key; it stops working everywhere within about a minute",
    answers: { 204: "revoked" },
    errors: ["not_found"],
  },
  async ({ env, params: { account: accountId, key: id } }) => {
    const list = profileObject(env, accountId);
    const hash = await callObject(() => list.keyHash(id));
    if (hash === null) throw new Problem("not_found", { detail: "There is no key with this id." });
    // The key is removed from the list last, so that an interrupted revocation can be repeated.
    await revoke(env, accountId, hash);
    await callObject(() => list.removeKey(id));
    return new Response(null, { status: 204 });
  },
);

/**
 * Revokes an API key. An isolate in which it was used within the last minute may accept it for up to another
 * minute.
 */
export async function revoke(env: Env, accountId: string, hash: string): Promise<void> {
  await callObject(() => keyObject(env, hash).disownKey(accountId));
  forgetKey(hash);
}

/** Generates an API key for the account, and the prefix of the key that lists show in place of it. */
function generateKey(accountId: string): { readonly key: string; readonly prefix: string } {
  const random = crypto.getRandomValues(new Uint8Array(24));
  const hex = toHex(random);
  return { key: `trk_${accountId}_${hex}`, prefix: `trk_${accountId}_${hex.slice(0, 6)}` };
}

/**
 * Stores the hash of an API key, with the account as its owner, and adds the key to the account's list.
 * @throws Problem `reference_reused` when another account owns the key.
 */
async function addKey(
  env: Env,
  accountId: string,
  sha256: string,
  prefix: string,
  label: string | null,
): Promise<StoredKey> {
  const owner = await callObject(() => keyObject(env, sha256).claimKey(accountId));
  if (owner !== accountId) {
    throw new Problem("reference_reused", { detail: "This key belongs to another account." });
  }
  const id = crypto.randomUUID();
  const key: StoredKey = { id, prefix, label, createdAt: Date.now(), lastUsedDay: null };
  const added = await callObject(() => profileObject(env, accountId).addKey(key, sha256));
  if (added !== null) return added;
  // The account was deleted meanwhile, and its deletion did not find this key in the list.
  await revoke(env, accountId, sha256);
  throw unknownAccount();
}

function keyView({ id, prefix, label, createdAt, lastUsedDay }: StoredKey) {
  const used = lastUsedDay === null ? {} : { last_used_at: lastUsedDay * DAY_S };
  return { id, prefix, label, created_at: toSeconds(createdAt), ...used };
}
