import { objectNamed, unplacedObject } from "../objects.ts";
import type { AccountObject } from "./account-object.ts";

/** Namespace of `AccountObject`, which holds objects of five kinds; see there. */
export type Accounts = DurableObjectNamespace<AccountObject>;

/** The part of the environment that leads to the objects; the rest of it says where they live. */
export interface AccountBindings {
  readonly ACCOUNTS: Accounts;
}

/** Returns the object of an account. */
export function accountObject(env: AccountBindings, id: string) {
  return objectNamed(env.ACCOUNTS, id, env);
}

/** Returns the object that knows who owns an API key. @param hash SHA-256 of the key, in hex. */
export function keyObject(env: AccountBindings, hash: string) {
  return objectNamed(env.ACCOUNTS, `key:${hash}`, env);
}

/** Returns the object that counts the failures of a receiver's host. */
export function hostObject(env: AccountBindings, host: string) {
  return objectNamed(env.ACCOUNTS, `host:${host}`, env);
}

/** Returns the object that notes when a provider refused the key of a connection. */
export function connectionObject(env: AccountBindings, name: string) {
  return objectNamed(env.ACCOUNTS, `connection:${name}`, env);
}

/**
 * Returns the object that notes the deployment's jurisdiction, and when the operator was last alerted of a
 * lagging index. It lies outside all jurisdictions, so that a change of jurisdiction finds it.
 */
export function indexObject(env: AccountBindings) {
  return unplacedObject(env.ACCOUNTS, "index:");
}
