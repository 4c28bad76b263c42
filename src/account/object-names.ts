import { objectNamed, unplacedObject } from "../objects.ts";
import type { AccountObject } from "./account-object.ts";

/** Namespace of `AccountObject`, whose objects are of six kinds; see its table. */
export type Accounts = DurableObjectNamespace<AccountObject>;

/**
 * The binding that leads to account objects. Callers pass the whole environment, whose variables decide
 * where the objects are placed.
 */
export interface AccountBindings {
  readonly ACCOUNTS: Accounts;
}

/** Returns the object that books the money of an account. */
export function ledgerObject(env: AccountBindings, accountId: string) {
  return objectNamed(env.ACCOUNTS, accountId, env);
}

/** Returns the object with the profile of an account and the list of its API keys. */
export function profileObject(env: AccountBindings, accountId: string) {
  return objectNamed(env.ACCOUNTS, `account-keys:${accountId}`, env);
}

/** Returns the object that stores the owner of an API key. @param hash SHA-256 of the key, in hex. */
export function keyObject(env: AccountBindings, hash: string) {
  return objectNamed(env.ACCOUNTS, `key:${hash}`, env);
}

/** Returns the object that counts the failures of a receiver's host. */
export function hostObject(env: AccountBindings, host: string) {
  return objectNamed(env.ACCOUNTS, `host:${host}`, env);
}

/** Returns the object that stores refusals of a connection's key by the provider. */
export function connectionObject(env: AccountBindings, name: string) {
  return objectNamed(env.ACCOUNTS, `connection:${name}`, env);
}

/**
 * Returns the object that stores the deployment's jurisdiction and the time of the last alert about a
 * lagging index. The object lies outside all jurisdictions, so that a change of jurisdiction finds it.
 */
export function indexObject(env: AccountBindings) {
  return unplacedObject(env.ACCOUNTS, "index:");
}
