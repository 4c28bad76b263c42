import type { Config } from "../../config/config.ts";
import type { Env } from "../../env.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { connectionsOf, poolsOf, withoutKey } from "./connection-health.ts";
import { indexStateOf } from "./index-health.ts";
import { configurationOf } from "./settings.ts";
import { storeStateOf } from "./store-health.ts";

export type HealthDetails = Awaited<ReturnType<typeof healthDetails>>;

/** Returns the part of the response of `/healthz` that only operators see. */
export async function healthDetails(config: Config, env: Env) {
  const [connections, index, store] = await Promise.all([
    connectionsOf(config, env),
    indexStateOf(config, env),
    storeStateOf(config, env),
  ]);
  return {
    configuration: configurationOf(config, env),
    connections,
    pools: poolsOf(config),
    without_key: withoutKey(config),
    disabled: config.disabledConnections,
    index,
    store,
  };
}

/** Reads the part of the response of `/healthz` that only operators see. Only the console uses this operation. */
export const readHealthDetails = operation(
  "readHealthDetails",
  { access: "statistics", query: NoQuery, body: NoBody },
  async ({ env, runtime: { config } }) => await healthDetails(config, env),
);
