import type { Runtime } from "../config/runtime.ts";
import type { Poll } from "../core/duties/poll.ts";
import { log } from "../lib/log.ts";
import { type Connection, withCustomerKey } from "../providers/provider.ts";
import { openKey } from "../security/sealed-key.ts";

/** The part of a task that decides with which connection and key its upstream is called. */
export type UpstreamOwner = Pick<Poll, "taskId" | "connection" | "customerKey">;

/**
 * Returns the connection with which the upstream of a task is called after the submission. It is the configured
 * connection; for a job that was submitted with a customer's key it has this key, which only this function opens. Null
 * when there is no such connection, and when the key cannot be opened. The log then has the line `key.unreadable`.
 */
export async function connectionOf(
  { taskId, connection: name, customerKey }: UpstreamOwner,
  { config, keyring }: Runtime,
): Promise<Connection | null> {
  const connection = config.connections.get(name);
  if (connection === undefined) return null;
  if (customerKey === null) return connection;
  const key = await openKey(customerKey, { taskId, connection: name }, keyring.sealingKeys);
  if (key !== null) return withCustomerKey(connection, key);
  log({ event: "key.unreadable", task_id: taskId, connection: name }, "error");
  return null;
}
