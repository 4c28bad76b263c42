import type { ConfigIssue } from "./issue.ts";

/**
 * Classes of the Durable Objects, by the bindings with which they are called. The comment at the head of each class
 * says what its objects store.
 */
export const OBJECT_CLASSES = {
  TASKS: "TaskObject",
  ACCOUNTS: "AccountObject",
  LISTENERS: "ListenersObject",
  CONNECTION_OBJECTS: "ConnectionObject",
  HOSTS: "HostObject",
  DIGESTS: "DigestObject",
  DEPLOYMENT: "DeploymentObject",
  OUTPUT_OBJECTS: "OutputObject",
  JOBS: "JobObject",
  CALLS: "CallObject",
  QUEUES: "QueueObject",
  OFFER_BOOK: "OfferBookObject",
} as const;

export type ObjectBinding = keyof typeof OBJECT_CLASSES;

/**
 * Returns a fault for each class of Durable Objects that is not bound, e.g. because the `wrangler.toml` of the
 * deployment is older than its code.
 */
export function unboundObjects(env: object): readonly ConfigIssue[] {
  return Object.entries(OBJECT_CLASSES).flatMap(([path, name]) => {
    const isBound = Reflect.get(env, path) !== undefined;
    const message = `must be bound to the class ${name}, as in the wrangler.toml of this release, which also has its migration`;
    return isBound ? [] : { path, message };
  });
}
