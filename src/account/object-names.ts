import { objectNamed, unplacedObject } from "../objects.ts";
import type { AccountObject } from "./account-object.ts";

/**
 * Namespace of the class `AccountObject`, whose Durable Objects are of nine kinds; the table at that class
 * lists them.
 */
export type Accounts = DurableObjectNamespace<AccountObject>;

/**
 * The binding through which account objects are called. Callers pass the whole environment, because its
 * variables decide in which jurisdiction and region the objects are.
 */
export interface AccountBindings {
  readonly ACCOUNTS: Accounts;
}

/** Returns the Durable Object that stores the ledger of an account. */
export function ledgerObject(env: AccountBindings, accountId: string) {
  return objectNamed(env.ACCOUNTS, accountId, env);
}

/** Returns the Durable Object that stores the profile of an account and the list of its API keys. */
export function profileObject(env: AccountBindings, accountId: string) {
  return objectNamed(env.ACCOUNTS, `account-keys:${accountId}`, env);
}

/**
 * Hexadecimal digits, one for each of the 16 Durable Objects that store which account owns an API key: a key
 * belongs to the object of the first digit of its SHA-256 hash.
 */
export const HASH_DIGITS = Array.from({ length: 16 }, (_, digit) => digit.toString(16));

/**
 * Returns the Durable Object that stores which account owns an API key.
 * @param hash SHA-256 of the key, in hex, or its first digit, which names the object.
 */
export function claimObject(env: AccountBindings, hash: string) {
  return objectNamed(env.ACCOUNTS, `keys:${hash.slice(0, 1)}`, env);
}

/**
 * Returns the Durable Object that counts the failed callback attempts at a receiver's host, in order to alert
 * the operator.
 */
export function hostObject(env: AccountBindings, host: string) {
  return objectNamed(env.ACCOUNTS, `host:${host}`, env);
}

/** Returns the Durable Object that gathers the failed callbacks to a receiver's host for the operator. */
export function digestObject(env: AccountBindings, host: string) {
  return objectNamed(env.ACCOUNTS, `digest:${host}`, env);
}

/** Returns the Durable Object that holds the WebSockets of an account's listeners. */
export function listenerObject(env: AccountBindings, accountId: string) {
  return objectNamed(env.ACCOUNTS, `listen:${accountId}`, env);
}

/**
 * Returns the Durable Object of a connection (a set of credentials for a provider): it stores when the
 * provider refused the API key and how long jobs take, and keeps the polls of all tasks below the provider's
 * rate limit.
 */
export function connectionObject(env: AccountBindings, name: string) {
  return objectNamed(env.ACCOUNTS, `connection:${name}`, env);
}

/**
 * Returns the Durable Object that stores from which sessions of the console somebody has logged out, so that
 * a copy of their cookies no longer works.
 */
export function sessionsObject(env: AccountBindings) {
  return objectNamed(env.ACCOUNTS, "sessions:", env);
}

/**
 * Returns the Durable Object that stores the deployment's jurisdiction and the times of the last alerts about
 * the index. It lies outside all jurisdictions, so that it is found also after `JURISDICTION` was changed.
 */
export function indexObject(env: AccountBindings) {
  return unplacedObject(env.ACCOUNTS, "index:");
}
