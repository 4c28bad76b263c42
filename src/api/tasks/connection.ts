import { areHooksExpected } from "../../config/poll-limits.ts";
import type { Config } from "../../config/config.ts";
import type { Connection } from "../../providers/provider.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../../providers/registry.ts";
import { invalidRequest } from "../http/problem.ts";

/**
 * Returns the connection (the configured access to a provider) of this name.
 * @throws Problem `invalid_request` when there is none, or when it cannot be polled and sends no hooks, so
 * that no result would arrive.
 */
export function requireConnection(name: string, { connections }: Config): Connection {
  const connection = connections.get(name);
  if (connection === undefined) {
    const needed = neededBy(name);
    const names = [...connections.keys()].join(", ");
    const message =
      needed === null ? `must be one of ${names}` : `is not configured: it needs ${needed}`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  const { provider, key } = connection;
  if (provider.polls !== null && key === null && !areHooksExpected(connection)) {
    const where = name === provider.name ? provider.variables.key : `CONNECTIONS, ${name}.key`;
    const message = `needs an API key (${where}), because no hooks are expected from it`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  return connection;
}

/**
 * Returns the names of the variables that must be set before a task can use this provider; null for an
 * unknown provider.
 */
function neededBy(name: string): string | null {
  if (SIMULATED_PROVIDERS.some((provider) => provider.name === name)) return "SANDBOX=true";
  const { key, baseUrl } = PROVIDERS.get(name)?.variables ?? {};
  return key === undefined ? null : `${key} and ${baseUrl}`;
}
