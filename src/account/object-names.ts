import type { AccountObject } from "./account-object.ts";

/** Namespace of `AccountObject`, which holds objects of five kinds; see there. */
export type Accounts = DurableObjectNamespace<AccountObject>;

/** Returns the object that knows who owns an API key. @param hash SHA-256 of the key, in hex. */
export function keyObject(accounts: Accounts, hash: string) {
  return accounts.getByName(`key:${hash}`);
}

/** Returns the object that counts the failures of a receiver's host. */
export function hostObject(accounts: Accounts, host: string) {
  return accounts.getByName(`host:${host}`);
}

/** Returns the object that notes when a provider refused the key of a connection. */
export function connectionObject(accounts: Accounts, name: string) {
  return accounts.getByName(`connection:${name}`);
}

/** Returns the object that notes when the operator was last alerted of a lagging index. */
export function indexObject(accounts: Accounts) {
  return accounts.getByName("index:");
}
