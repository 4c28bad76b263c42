import type { Account } from "../../core/record/task.ts";
import type { Env } from "../../env.ts";
import type { AccountObject } from "../../account/account-object.ts";
import { accountObject } from "../../account/object-names.ts";
import { isolateCache } from "../http/isolate-cache.ts";
import { unknownAccount } from "../http/problem.ts";
import { callObject } from "../http/object-call.ts";

/**
 * Cache of accounts with the generation of their callback secret. An account that is one rotation behind
 * still signs correctly, because callbacks are also signed with the previous and the next generation.
 */
const accounts = isolateCache<Account>();

/** Returns the account in the form that a task stores; null when the account does not exist. */
export async function findAccount(env: Env, id: string): Promise<Account | null> {
  const known = accounts.get(id);
  if (known !== undefined) return known;
  const state = await callObject(() => accountObject(env, id).describe());
  if (state === null) return null;
  const account = { id, generation: state.generation };
  accounts.set(id, account);
  return account;
}

/** Removes the account from this isolate's cache; other isolates see the change within a minute. */
export function forgetAccount(id: string): void {
  accounts.delete(id);
}

/** Calls an account's object. @throws Problem `not_found` when the call returns null: no such account. */
export async function callAccount<T>(
  env: Env,
  id: string,
  call: (account: DurableObjectStub<AccountObject>) => Promise<T | null>,
): Promise<T> {
  const result = await callObject(() => call(accountObject(env, id)));
  if (result === null) throw unknownAccount();
  return result;
}
