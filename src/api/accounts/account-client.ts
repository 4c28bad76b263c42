import type { Account } from "../../core/record/task.ts";
import type { Env } from "../../env.ts";
import type { AccountObject } from "../../objects/account/account-object.ts";
import type { StoredEndpoint } from "../../objects/account/endpoint-store.ts";
import { settingsOf } from "../../objects/account/account-profile.ts";
import { ledgerObject, profileObject } from "../../objects/object-names.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { unknownAccount } from "../http/problem.ts";
import { callObject } from "../http/object-call.ts";

type Call<T> = (object: DurableObjectStub<AccountObject>) => Promise<T | null>;

interface KnownAccount {
  readonly account: Account;
  readonly tags: readonly string[];
  /** Endpoint of tasks that name no receiver. Null when there is none. */
  readonly defaultEndpoint: StoredEndpoint | null;
}

/**
 * Cache of accounts, each with its tags, its default endpoint and the generation of its callback secret, a number that
 * each rotation of the secret raises. A task that takes an outdated generation from the cache still signs correctly,
 * because callbacks are also signed with the secrets of the previous and the next generation.
 */
const accounts = isolateCache<KnownAccount>();

/**
 * Returns the id of an account and the generation of its callback secret, a number that each rotation raises; a task
 * stores both. An account that is in the cache is not read again.
 * @returns null when the account does not exist or was deleted.
 */
export async function findAccount(env: Env, id: string): Promise<Account | null> {
  return (await readKnown(env, id))?.account ?? null;
}

/**
 * Returns the tags of an account, by which offers may be for it. Those of an account that is in the cache are not read
 * again: new tags are in use everywhere within about a minute.
 * @returns no tags when the account does not exist or was deleted.
 */
export async function tagsOfAccount(env: Env, id: string): Promise<readonly string[]> {
  return (await readKnown(env, id))?.tags ?? [];
}

/**
 * Returns the endpoint of tasks of an account that name no receiver, as it was at most a minute ago.
 * @returns null when there is none, and when the account does not exist or was deleted.
 */
export async function defaultEndpointOfAccount(
  env: Env,
  id: string,
): Promise<StoredEndpoint | null> {
  return (await readKnown(env, id))?.defaultEndpoint ?? null;
}

async function readKnown(env: Env, id: string): Promise<KnownAccount | null> {
  const known = accounts.get(id);
  if (known !== undefined) return known;
  const profile = await callObject(() => profileObject(env, id).profile());
  if (profile === null || profile.deletedAt !== null) return null;
  const { tags } = settingsOf(profile);
  const { generation, defaultEndpoint = null } = profile;
  const read = { account: { id, generation }, tags, defaultEndpoint };
  accounts.set(id, read);
  return read;
}

/**
 * Returns the id of an account and the present generation of its callback secret (a number that each rotation raises),
 * read from the account's object and not from the cache.
 * @throws Problem `not_found` when the account does not exist or was deleted.
 */
export async function requireAccount(env: Env, id: string): Promise<Account> {
  forgetAccount(id);
  const account = await findAccount(env, id);
  if (account === null) throw unknownAccount();
  return account;
}

/** Removes an account from this isolate's cache. Other isolates may use their cached copy for up to a minute more. */
export function forgetAccount(id: string): void {
  accounts.delete(id);
}

/**
 * Calls the Durable Object that stores the ledger of an account.
 * @throws Problem `not_found` when the call returns null, because there is no such account.
 */
export function callLedger<T>(env: Env, id: string, call: Call<T>): Promise<T> {
  return resultOf(() => call(ledgerObject(env, id)));
}

/**
 * Calls the Durable Object that stores the profile and the API keys of an account.
 * @throws Problem `not_found` when the call returns null, because there is no such account.
 */
export function callProfile<T>(env: Env, id: string, call: Call<T>): Promise<T> {
  return resultOf(() => call(profileObject(env, id)));
}

async function resultOf<T>(call: () => Promise<T | null>): Promise<T> {
  const result = await callObject(call);
  if (result === null) throw unknownAccount();
  return result;
}
