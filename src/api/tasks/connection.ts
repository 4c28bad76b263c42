import type { Config } from "../../config/config.ts";
import { PROVIDERS } from "../../providers/registry.ts";
import type { Connection } from "../../providers/provider.ts";
import { SANDBOX } from "../../providers/sandbox.ts";
import { invalidRequest } from "../http/problem.ts";

/** @throws Problem `invalid_request`: there is no such connection, or nothing could come through it. */
export function requireConnection(name: string, { connections }: Config): Connection {
  const connection = connections.get(name);
  if (connection === undefined) {
    const message = `must be one of ${[...connections.keys()].join(", ")}`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  const provider = PROVIDERS.get(connection.provider);
  if (provider?.hooks === null && connection.key === null) {
    const where = name === provider.name ? provider.variables.key : `CONNECTIONS, ${name}.key`;
    const message = `needs an API key (${where}), because it sends no hooks`;
    throw invalidRequest([{ path: "/provider", message }]);
  }
  return connection;
}

export function isSandbox({ provider }: Connection): boolean {
  return provider === SANDBOX;
}
