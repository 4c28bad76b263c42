import type { Config } from "../../config/config.ts";
import type { ConnectionOffers } from "../../core/offers/offer-list.ts";
import { keySettingOf } from "../../config/needed-settings.ts";
import {
  type Connection,
  queuesOf,
  type UpstreamProvider,
  withCustomerKey,
} from "../../providers/provider.ts";
import { readCustomerKey } from "./customer-credential.ts";
import { submitAdapterOf } from "../../providers/submit-target.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import {
  disabledConnection,
  hiddenConnection,
  unknownConnection,
  unusableConnection,
} from "../tasks/connection.ts";
import type { SubmitPlace } from "./prepared-call.ts";
import type { UpstreamCall } from "./upstream-call.ts";

/**
 * Returns where a submission goes, and whose key the upstream gets.
 * @param name name of the connection.
 * @param offers the offers of the calling account at the connection. Null for an operator, who may learn what is
 * configured.
 * @throws Problem `not_found` when there is no such connection, or the path starts no job there; `not_configured` when
 * the connection is disabled, or when neither it nor the customer has an API key; `invalid_request` when the customer's
 * key is at fault.
 */
export function requireSubmitPlace(
  name: string,
  call: UpstreamCall,
  config: Config,
  offers: ConnectionOffers | null,
): SubmitPlace {
  const { path } = call;
  // An account learns nothing of a connection at which it may submit nothing, not even that there is one.
  if (offers?.isEmpty === true) throw hiddenConnection(name);
  const isOperator = offers === null;
  const connection = requireConnection(name, config, isOperator);
  const { provider } = connection;
  const adapter = submitAdapterOf(connection);
  if (adapter === null) {
    const detail = `Jobs of ${provider.name} cannot be submitted through the relay: register the task and submit the job yourself.`;
    throw new Problem("not_found", { detail });
  }
  const target = adapter.target(path);
  if (target === null) throw startsNoJob(connection, offers);
  if (provider.polls === null) {
    requireNoCustomerKey(call, `${name} takes no key`);
    return { connection, credential: null, adapter, target };
  }
  return { ...requireKey(connection, provider, call, isOperator), adapter, target };
}

/**
 * Returns the connection with the key that the upstream gets: the connection's own or the customer's. A pool has the key
 * of its first member.
 * @throws Problem `not_configured` when the connection has no API key and the customer has sent none; `invalid_request`
 * when the customer's key is at fault.
 */
export function requireKey(
  connection: Connection,
  provider: UpstreamProvider,
  call: UpstreamCall,
  isOperator: boolean,
): Pick<SubmitPlace, "connection" | "credential"> {
  const { name, pool } = connection;
  if (provider.polls.takesNoKey === true) requireNoCustomerKey(call, `${name} takes no key`);
  if (pool !== null) requireNoCustomerKey(call, `${name} is a pool, whose calls use its own keys`);
  if (call.keyOwner === "customer") return customerPlace(connection, provider, call);
  if (connection.key !== null) return { connection, credential: null };
  const lack = isOperator ? `: ${keySettingOf(connection)} is not set` : "";
  const detail = `The connection has no API key${lack}. With a key of your own at the upstream, send that in the header of the upstream, and the key of the relay in Relay-Key.`;
  throw new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
}

/**
 * Returns the connections in whose queues a submission may get a place, the preferred ones first. Empty when the jobs of
 * its connection are not limited, and for a call with a customer's own key.
 */
export function queuesFor({
  connection,
  credential,
}: Pick<SubmitPlace, "connection" | "credential">): readonly Connection[] {
  return credential === null ? queuesOf(connection) : [];
}

/**
 * Returns the connection of this name.
 * @param isOperator true when the caller is an operator, whom the problems may tell what is configured.
 * @throws Problem `not_found` when there is no such connection; `not_configured` when it is disabled.
 */
export function requireConnection(name: string, config: Config, isOperator: boolean): Connection {
  const { connections, disabledConnections } = config;
  const connection = connections.get(name);
  if (connection !== undefined) return connection;
  if (disabledConnections.some((each) => each.name === name)) {
    throw isOperator ? disabledConnection(name) : unusableConnection(name);
  }
  throw isOperator ? unknownConnection(name, config) : hiddenConnection(name);
}

/**
 * Checks that a call has no key of the customer.
 * @param reason why it must have none, for the error message.
 * @throws Problem `invalid_request` when it has one.
 */
function requireNoCustomerKey({ keyOwner }: UpstreamCall, reason: string): void {
  if (keyOwner !== "customer") return;
  throw invalidRequest([{ path: "/Relay-Key", message: `must be left out: ${reason}` }]);
}

/**
 * Returns the connection with the customer's key instead of the configured one, and the customer's key with the name of
 * the header in which it came.
 * @throws Problem `invalid_request` when the customer's key is at fault.
 */
function customerPlace(
  connection: Connection,
  provider: UpstreamProvider,
  { headers }: UpstreamCall,
): Pick<SubmitPlace, "connection" | "credential"> {
  const read = readCustomerKey(headers, provider);
  if (read.ok) {
    const credential = read.value;
    return { connection: withCustomerKey(connection, credential.key), credential };
  }
  const { header, message } = read.error;
  throw invalidRequest([{ path: `/${header}`, message }]);
}

function startsNoJob(connection: Connection, offers: ConnectionOffers | null): Problem {
  const { provider } = connection;
  const known =
    provider.polls === null
      ? `Its paths are ${provider.simulation.submitPaths.join(" and ")}.`
      : offers === null
        ? "docs/providers.md in the repository of the relay has the calls of each provider."
        : offeredPaths(offers);
  return new Problem("not_found", {
    detail: `A POST to this path of ${provider.name} starts no job that the relay knows. ${known}`,
  });
}

/** Returns a sentence that names the paths at which accounts may submit. */
function offeredPaths(offers: ConnectionOffers): string {
  const paths = [...new Set(offers.all.flatMap(({ offer }) => offer.path ?? []))];
  return paths.length === 0
    ? "The documentation of the upstream has the paths that do."
    : `Offered to you: ${paths.join(", ")}.`;
}
