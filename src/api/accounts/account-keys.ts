import { generateAccountKey } from "../../security/account-key.ts";
import type { Runtime } from "../../config/runtime.ts";
import { sha256Hex } from "../../security/encoding.ts";
import { keyName } from "../../security/operator-key-hashes.ts";
import { DAY_S, toSeconds } from "../../core/time.ts";
import { log } from "../../lib/log.ts";
import { type Caller, keyNameOf } from "../../objects/task/caller.ts";
import type { StoredKey } from "../../objects/account/key-table.ts";
import { callProfile, requireAccount } from "./account-client.ts";
import { NewKey } from "./account-schemas.ts";
import { removeKey, storeKey } from "./key-storage.ts";
import { json } from "../http/answer.ts";
import { Problem } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";

/**
 * Creates an API key of an account, or imports an existing key by its hash. Only the result of this operation contains
 * the created key, because the relay stores nothing but hashes of keys.
 */
export const createKey = operation(
  "createKey",
  { access: "administer", params: ["account"], query: NoQuery, body: NewKey },
  async ({ env, runtime, caller, params: { account: accountId }, body }) => {
    const { label, role, sha256: given } = body;
    await requireAccount(env, accountId);
    const { sha256, prefix, key } =
      given === null ? await newKey(accountId, runtime) : importedKey(given);
    const stored = await storeKey(env, accountId, { sha256, prefix, label, role });
    logOrder("key.create", accountId, stored.id, caller);
    return { ...keyView(stored), ...(key !== null && { key }) };
  },
);

export const createKeyRoute = routeOf(
  { method: "POST", path: "/v1/accounts/{account}/keys" },
  createKey,
  (made) => json(made, 201),
);

/** Lists the API keys of an account, each by its prefix, because the relay stores only hashes of keys. */
export const listKeys = operation(
  "listKeys",
  {
    access: "keys",
    rateLimit: "LIMIT_LISTS",
    params: ["account"],
    query: NoQuery,
    body: NoBody,
  },
  async ({ env, params: { account } }) =>
    await callProfile(env, account, (object) => object.keys()),
);

export const listKeysRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}/keys" },
  listKeys,
  (keys) => json({ data: keys.map(keyView) }),
);

/** Revokes an API key of an account. */
export const revokeKey = operation(
  "revokeKey",
  { access: "administer", params: ["account", "key"], query: NoQuery, body: NoBody },
  async ({ env, caller, params: { account, key: id } }) => {
    if (!(await removeKey(env, account, id))) {
      throw new Problem("not_found", { detail: "There is no key with this id." });
    }
    logOrder("key.revoke", account, id, caller);
  },
);

export const revokeKeyRoute = routeOf(
  { method: "DELETE", path: "/v1/accounts/{account}/keys/{key}" },
  revokeKey,
  () => new Response(null, { status: 204 }),
);

/** Generates an API key for an account. @returns the key, its hash, and the prefix by which lists show the key. */
async function newKey(accountId: string, { keyring }: Runtime) {
  const { key, prefix } = await generateAccountKey(accountId, keyring.accountMacKeys);
  return { sha256: await sha256Hex(key), prefix, key };
}

function importedKey(sha256: string) {
  return { sha256, prefix: `sha256:${sha256.slice(0, 8)}`, key: null };
}

function logOrder(event: string, account: string, keyId: string, caller: Caller): void {
  log({ event, account, key_id: keyId, by: keyNameOf(caller) });
}

function keyView({ id, sha256, prefix, label, role, createdAt, lastUsedDay }: StoredKey) {
  const used = lastUsedDay === null ? {} : { last_used_at: lastUsedDay * DAY_S };
  const name = keyName(sha256);
  return { id, name, prefix, label, role, created_at: toSeconds(createdAt), ...used };
}
