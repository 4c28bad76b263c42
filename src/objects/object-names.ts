import type { AccountObject } from "./account/account-object.ts";
import type { ObjectBinding } from "../config/object-bindings.ts";
import { configOf, type WithStartup } from "../config/runtime.ts";
import type { ConnectionObject } from "./connection/connection-object.ts";
import type { DeploymentObject } from "./deployment-object.ts";
import type { DigestObject } from "./digest-object.ts";
import type { HostObject } from "./host-object.ts";
import type { ListenersObject } from "./listeners/listeners-object.ts";

interface Classes {
  readonly ACCOUNTS: AccountObject;
  readonly LISTENERS: ListenersObject;
  readonly CONNECTION_OBJECTS: ConnectionObject;
  readonly HOSTS: HostObject;
  readonly DIGESTS: DigestObject;
  readonly DEPLOYMENT: DeploymentObject;
}

/**
 * The bindings through which all objects but those of tasks are called. Callers pass the whole environment,
 * because its configuration decides in which jurisdiction and region the objects are.
 */
export type ObjectNamespaces = WithStartup & {
  readonly [Name in Exclude<ObjectBinding, "TASKS">]: DurableObjectNamespace<Classes[Name]>;
};

/**
 * The methods of a Durable Object namespace that this file uses to reach an object; `DurableObjectNamespace`
 * and its subnamespaces for a jurisdiction have them.
 */
type Names<T extends Rpc.DurableObjectBranded> = Pick<
  DurableObjectNamespace<T>,
  "getByName" | "jurisdiction"
>;

/**
 * Returns the stub of the Durable Object of this name in the configured jurisdiction and region. The same
 * name means another object in each jurisdiction, so all stubs are created in this file; lint forbids the
 * direct use of a namespace elsewhere.
 * @param env environment, whose configuration holds `JURISDICTION` and `LOCATION_HINT`.
 */
export function objectNamed<T extends Rpc.DurableObjectBranded>(
  namespace: Names<T>,
  name: string,
  env: WithStartup,
): DurableObjectStub<T> {
  const config = configOf(env);
  if (config === null) throw new Error("an object is called before the configuration is checked");
  const { jurisdiction, locationHint } = config;
  const placed = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return locationHint === null ? placed.getByName(name) : placed.getByName(name, { locationHint });
}

/** Returns the Durable Object that stores the ledger of an account. */
export function ledgerObject(env: ObjectNamespaces, accountId: string) {
  return objectNamed(env.ACCOUNTS, accountId, env);
}

/** Returns the Durable Object that stores the profile of an account and the list of its API keys. */
export function profileObject(env: ObjectNamespaces, accountId: string) {
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
export function claimObject(env: ObjectNamespaces, hash: string) {
  return objectNamed(env.ACCOUNTS, `keys:${hash.slice(0, 1)}`, env);
}

/**
 * Returns the Durable Object that stores the deployment's jurisdiction. It lies outside all jurisdictions,
 * whatever the configuration says, so that it is found also after `JURISDICTION` was changed.
 */
export function markerObject(env: ObjectNamespaces) {
  return env.ACCOUNTS.getByName("index:");
}

/** Returns the Durable Object that holds the WebSockets of an account's listeners. */
export function listenersObject(env: ObjectNamespaces, accountId: string) {
  return objectNamed(env.LISTENERS, accountId, env);
}

/** Returns the Durable Object of a connection (a set of credentials for a provider). */
export function connectionObject(env: ObjectNamespaces, name: string) {
  return objectNamed(env.CONNECTION_OBJECTS, name, env);
}

/**
 * Returns the Durable Object that counts the failed callback attempts at a receiver's host, in order to alert
 * the operator.
 */
export function hostObject(env: ObjectNamespaces, host: string) {
  return objectNamed(env.HOSTS, host, env);
}

/** Returns the Durable Object that gathers the failed callbacks to a receiver's host for the operator. */
export function digestObject(env: ObjectNamespaces, host: string) {
  return objectNamed(env.DIGESTS, host, env);
}

/**
 * Returns the one Durable Object that stores from which sessions of the console somebody has logged out, and
 * when the operator was last alerted about the index.
 */
export function deploymentObject(env: ObjectNamespaces) {
  return objectNamed(env.DEPLOYMENT, "deployment", env);
}
