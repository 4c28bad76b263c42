import type { Account } from "../../core/record/task.ts";
import type { Env } from "../../env.ts";
import type { AccountObject } from "../../account/account-object.ts";
import { unknownAccount } from "../http/problem.ts";
import { callObject } from "../http/object-call.ts";

const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 10_000;
/**
 * Generations that this isolate has seen. One that is out of date by a rotation still signs right,
 * because callbacks are signed with the generations around it too.
 */
const remembered = new Map<string, { readonly account: Account; readonly until: number }>();

/** The account's part of a new task, or null: there is no such account. */
export async function findAccount(env: Env, id: string): Promise<Account | null> {
  const known = remembered.get(id);
  if (known !== undefined && known.until > Date.now()) return known.account;
  const state = await callObject(() => env.ACCOUNTS.getByName(id).describe());
  if (state === null) return null;
  const account = { id, generation: state.generation };
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(id, { account, until: Date.now() + REMEMBER_MS });
  return account;
}

/** Makes this isolate look again; others do within a minute. */
export function forgetAccount(id: string): void {
  remembered.delete(id);
}

/** Asks an account's object. @throws Problem `not_found` when it answers null: no such account. */
export async function askAccount<T>(
  env: Env,
  id: string,
  ask: (account: DurableObjectStub<AccountObject>) => Promise<T | null>,
): Promise<T> {
  const answer = await callObject(() => ask(env.ACCOUNTS.getByName(id)));
  if (answer === null) throw unknownAccount();
  return answer;
}
