import type { Config } from "../../config/config.ts";
import { keySettingOf, settingsNeededBy } from "../../config/needed-settings.ts";
import { canHaveResults } from "../../config/poll-limits.ts";
import type { Connection } from "../../providers/provider.ts";
import { invalidRequest } from "../http/problem.ts";

/**
 * Returns the connection (the configured access to a provider) of this name.
 * @throws Problem `invalid_request` when there is no such connection, or when no result could arrive over it: it has
 * no API key for polls, and no hooks are expected from it.
 */
export function requireConnection(name: string, { connections }: Config): Connection {
  const connection = connections.get(name);
  if (connection === undefined) {
    const needed = settingsNeededBy(name);
    const message =
      needed.length === 0
        ? `must be one of ${[...connections.keys()].join(", ")}`
        : `is not configured: it needs ${needed.join(" and ")}`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  if (!canHaveResults(connection)) {
    const where = keySettingOf(connection);
    const message = `needs an API key (${where}), because no hooks are expected from it`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  return connection;
}
