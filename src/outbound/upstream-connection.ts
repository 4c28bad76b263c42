import type { Runtime } from "../config/runtime.ts";
import type { Poll } from "../core/duties/poll.ts";
import { log } from "../lib/log.ts";
import { type Connection, withCustomerKey } from "../providers/provider.ts";
import { openKey } from "../security/sealed-key.ts";

/** The fields of a task that decide with which connection and key its upstream is called. */
export type UpstreamOwner = Pick<Poll, "taskId" | "connection" | "customerKey">;

/**
 * Returns the connection with which the upstream of a task is called after the submission. It is the configured
 * connection. For a job that was submitted with a customer's key, the connection has this key, which is decrypted only
 * here. Null when there is no such connection. Null also when the key cannot be decrypted; the line `key.unreadable` is
 * then written to the log.
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

/** Returns the headers by which an upstream recognises the key of a connection; none when it has no key. */
export async function keyHeadersOf({
  provider,
  key,
}: Connection): Promise<Readonly<Record<string, string>>> {
  if (provider.polls === null || key === null) return {};
  return provider.polls.headers(key, Date.now());
}
