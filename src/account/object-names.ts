import type { AccountObject } from "./account-object.ts";

/** The objects that keep the money. */
export type Accounts = DurableObjectNamespace<AccountObject>;

/** The object that tells the owner of an API key; the colon keeps it apart from all accounts. */
export function keyObject(accounts: Accounts, hash: string) {
  return accounts.getByName(`key:${hash}`);
}

/** The object that knows when the operator was last told of the index. */
export function indexObject(accounts: Accounts) {
  return accounts.getByName("index:");
}

/** The object that counts the failures of a receiver, for all tasks together. */
export function hostObject(accounts: Accounts, host: string) {
  return accounts.getByName(`host:${host}`);
}

/** The object that knows how a connection fares, for all tasks together. */
export function connectionObject(accounts: Accounts, name: string) {
  return accounts.getByName(`connection:${name}`);
}
