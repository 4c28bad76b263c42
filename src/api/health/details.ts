import type { Config } from "../../config/config.ts";
import type { Env } from "../../env.ts";
import { connectionsOf, withoutKey } from "./connection-health.ts";
import { indexStateOf } from "./index-health.ts";
import { configurationOf } from "./settings.ts";

/** Returns the part of the answer of `/healthz` that only operators see. */
export async function healthDetails(config: Config, env: Env) {
  const [connections, index] = await Promise.all([
    connectionsOf(config, env),
    indexStateOf(config, env),
  ]);
  return {
    configuration: configurationOf(config, env),
    connections,
    without_key: withoutKey(config),
    disabled: config.disabledConnections,
    index,
  };
}
