import type { Config } from "../../config/config.ts";
import { keySettingOf, settingsNeededBy } from "../../config/needed-settings.ts";
import { canHaveResults } from "../../config/poll-limits.ts";
import type { Connection } from "../../providers/provider.ts";
import { invalidRequest, Problem } from "../http/problem.ts";

/**
 * Returns the connection (the configured access to a provider) of this name.
 * @throws Problem `invalid_request` when there is no such connection, when it is a pool, or when no result could arrive
 * through it, because it has no API key for polls and no hooks are expected; `not_configured` when it is disabled.
 */
export function requireConnection(name: string, config: Config): Connection {
  const { connections, disabledConnections } = config;
  const connection = connections.get(name);
  if (connection === undefined) {
    if (disabledConnections.some((each) => each.name === name)) throw disabledConnection(name);
    const needed = settingsNeededBy(name);
    const message =
      needed.length === 0
        ? `must be one of ${namesOf(connections)}`
        : `is not configured: it needs ${needed.join(" and ")}`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  if (connection.pool !== null) {
    const members = connection.pool.members.map((member) => member.name).join(", ");
    const message = `must name the member of the pool with which the job runs: ${members}`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  if (!canHaveResults(connection)) {
    const where = keySettingOf(connection);
    const message = `needs an API key (${where}), because no hooks are expected from it`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  return connection;
}

/**
 * Returns the problem for a path that names no connection, for an operator, who is told which connections exist or which
 * settings are missing.
 */
export function unknownConnection(name: string, { connections }: Config): Problem {
  const needed = settingsNeededBy(name);
  const cure =
    needed.length === 0
      ? `The connections are ${namesOf(connections)}.`
      : `It needs ${needed.join(" and ")}.`;
  return new Problem("not_found", { detail: `${absence(name)} ${cure}` });
}

/**
 * Returns the problem for a connection that an account does not know, in the same words whether there is one of this
 * name or not.
 */
export function hiddenConnection(name: string): Problem {
  return new Problem("not_found", { detail: absence(name) });
}

function absence(name: string): string {
  return `There is no connection ${JSON.stringify(name)}.`;
}

function namesOf(connections: Config["connections"]): string {
  return [...connections.keys()].join(", ");
}

/**
 * Returns the problem for a connection that is disabled because of a fault in its entry. It does not contain the fault,
 * which only operators may see.
 */
export function disabledConnection(name: string): Problem {
  const detail = `The connection ${name} is disabled, because its entry in CONNECTIONS is not valid; /healthz names the faults.`;
  return new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
}

/** Returns the problem for a disabled connection at which an account may submit jobs. It does not say why. */
export function unusableConnection(name: string): Problem {
  const detail = `The connection ${name} cannot be used at the moment.`;
  return new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
}
