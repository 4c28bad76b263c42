import type { AccountObject } from "./account/account-object.ts";
import { RELAY_ENDPOINTS } from "./account/endpoint-store.ts";
import type { CallObject } from "./call/call-object.ts";
import type { ObjectBinding } from "../config/object-bindings.ts";
import type { WithStartup } from "../config/runtime.ts";
import { hashOf } from "../core/hash.ts";
import type { ConnectionObject } from "./connection/connection-object.ts";
import type { DeploymentObject } from "./deployment-object.ts";
import type { DigestObject } from "./digest-object.ts";
import type { HostObject } from "./host-object.ts";
import type { IndexObject } from "./index/index-object.ts";
import type { JobObject } from "./job-object.ts";
import type { ListenersObject } from "./listeners/listeners-object.ts";
import type { OutputObject } from "./output/output-object.ts";
import type { OfferBookObject } from "./offers/offer-book-object.ts";
import { newObject, objectNamed, objectOutsideJurisdictions } from "./placed-object.ts";
import type { QueueObject } from "./queue/queue-object.ts";

interface Classes {
  readonly ACCOUNTS: AccountObject;
  readonly LISTENERS: ListenersObject;
  readonly CONNECTION_OBJECTS: ConnectionObject;
  readonly HOSTS: HostObject;
  readonly DIGESTS: DigestObject;
  readonly DEPLOYMENT: DeploymentObject;
  readonly OUTPUT_OBJECTS: OutputObject;
  readonly JOBS: JobObject;
  readonly CALLS: CallObject;
  readonly QUEUES: QueueObject;
  readonly OFFER_BOOK: OfferBookObject;
}

/**
 * The bindings by which all Durable Objects except those of tasks are called. That of the index is optional. Callers pass the whole environment,
 * because its configuration decides in which jurisdiction and region the objects are.
 */
export type ObjectNamespaces = WithStartup & {
  readonly [Name in Exclude<ObjectBinding, "TASKS">]: DurableObjectNamespace<Classes[Name]>;
} & { readonly INDEX_OBJECT?: DurableObjectNamespace<IndexObject> };

/** Returns the Durable Object that stores the ledger of an account. */
export function ledgerObject(env: ObjectNamespaces, accountId: string) {
  return objectNamed(env.ACCOUNTS, accountId, env);
}

/** Returns the Durable Object that stores the profile of an account and the list of its API keys. */
export function profileObject(env: ObjectNamespaces, accountId: string) {
  return objectNamed(env.ACCOUNTS, `account-keys:${accountId}`, env);
}

/** Returns the one Durable Object that stores the endpoints of the relay itself. */
export function relayEndpointsObject(env: ObjectNamespaces) {
  return objectNamed(env.ACCOUNTS, RELAY_ENDPOINTS, env);
}

/**
 * The hexadecimal digits, one for each of the 16 Durable Objects that store which account owns an API key. The
 * first digit of the SHA-256 of a key decides which of these objects stores its owner.
 */
export const HASH_DIGITS = Array.from({ length: 16 }, (_, digit) => digit.toString(16));

/**
 * Returns the Durable Object that stores which account owns an API key.
 * @param hash SHA-256 of the key in hex. Its first digit is enough.
 */
export function claimObject(env: ObjectNamespaces, hash: string) {
  return objectNamed(env.ACCOUNTS, `keys:${hash.slice(0, 1)}`, env);
}

/**
 * Returns the Durable Object that stores the deployment's jurisdiction. The object itself is always outside all
 * jurisdictions, so that the relay finds it even after `JURISDICTION` was changed.
 */
export function markerObject(env: ObjectNamespaces) {
  return objectOutsideJurisdictions(env.ACCOUNTS, "index:");
}

/**
 * Returns the Durable Object to which the listeners of an account (programs that get its callbacks) are connected by
 * WebSocket.
 */
export function listenersObject(env: ObjectNamespaces, accountId: string) {
  return objectNamed(env.LISTENERS, accountId, env);
}

/** Returns the Durable Object of a connection (a set of credentials for a provider). */
export function connectionObject(env: ObjectNamespaces, name: string) {
  return objectNamed(env.CONNECTION_OBJECTS, name, env);
}

/**
 * Returns the Durable Object that keeps the polls with a customer's key below the provider's rate limit. Its name
 * contains a colon, which no name of a connection contains.
 * @param hash SHA-256 of the connection and the key in hex.
 */
export function customerPollsObject(env: ObjectNamespaces, connection: string, hash: string) {
  return objectNamed(env.CONNECTION_OBJECTS, `customer:${connection}:${hash}`, env);
}

/**
 * Returns the Durable Object that counts the failed callback attempts at a receiver's host and decides when the
 * operator is alerted.
 */
export function hostObject(env: ObjectNamespaces, host: string) {
  return objectNamed(env.HOSTS, host, env);
}

/**
 * Returns the Durable Object that collects the failed callbacks to a receiver's host, so that the operator gets one
 * event about them.
 */
export function digestObject(env: ObjectNamespaces, host: string) {
  return objectNamed(env.DIGESTS, host, env);
}

/**
 * Returns the Durable Object that copies the outputs of a task.
 * @param recordedAt time at which the record of the task was created, which tells the task from others with the same
 * id.
 */
export function outputObject(env: ObjectNamespaces, taskId: string, recordedAt: number) {
  return objectNamed(env.OUTPUT_OBJECTS, `${taskId}:${recordedAt}`, env);
}

/**
 * Number of Durable Objects of a connection that store to which tasks its submitted jobs belong. With another number,
 * most jobs would be looked up in an object that does not have them.
 */
const JOB_OBJECTS = 256;

/**
 * Returns the Durable Object that stores to which task a submitted job belongs, beside other jobs of the connection. An
 * object for each job would cost as much storage as a task. A hash of the job's id chooses among the objects.
 */
export function jobObject(env: ObjectNamespaces, connection: string, jobId: string) {
  return objectNamed(env.JOBS, `${connection}:${hashOf(jobId) % JOB_OBJECTS}`, env);
}

/**
 * Creates the Durable Object that makes the call of a submission whose client waits for the answer. Nobody looks for it
 * later, so it has no name.
 * @returns a function that returns a stub of the object.
 */
export function newCallObject(env: ObjectNamespaces) {
  return newObject(env.CALLS, env);
}

/**
 * Returns the Durable Object that makes the call of a submission whose client does not wait for the answer.
 * @param submissionId random id of the submission.
 */
export function submittedCallObject(env: ObjectNamespaces, submissionId: string) {
  return objectNamed(env.CALLS, submissionId, env);
}

/** Returns the Durable Object with the places of a connection and the submissions that wait for one. */
export function queueObject(env: ObjectNamespaces, connection: string) {
  return objectNamed(env.QUEUES, connection, env);
}

/** Returns the one Durable Object that stores the offers of the relay. */
export function offerBook(env: ObjectNamespaces) {
  return objectNamed(env.OFFER_BOOK, "offers", env);
}

/**
 * Returns the one Durable Object that stores which sessions of the console were ended by logging out, and when the
 * operator was last alerted about the index.
 */
export function deploymentObject(env: ObjectNamespaces) {
  return objectNamed(env.DEPLOYMENT, "deployment", env);
}

/**
 * Returns the one Durable Object that stores the index.
 * @throws when `INDEX_OBJECT` is not bound.
 */
export function indexObject(env: ObjectNamespaces) {
  if (env.INDEX_OBJECT === undefined) throw new Error("INDEX_OBJECT is not bound");
  return objectNamed(env.INDEX_OBJECT, "index", env);
}
