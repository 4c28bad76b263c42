import { configOf, type WithStartup } from "../../config/runtime.ts";
import type * as sdk from "./mcp-sdk.ts";

export type McpSdk = typeof sdk;

let loading: Promise<McpSdk> | null = null;

/**
 * Returns the SDK of MCP. It is evaluated at the first call, which takes about as much CPU time as a fifth of the start
 * of the relay; most deployments never need it.
 */
export function loadMcpSdk(): Promise<McpSdk> {
  loading ??= import("./mcp-sdk.ts");
  return loading;
}

/**
 * Evaluates the SDK when the isolate starts, if an offer has a tool: the platform does not bill the start, but it would
 * bill the first request of a client of MCP.
 */
export async function prepareMcpSdk(env: WithStartup): Promise<void> {
  if (configOf(env)?.offers.some(({ tool }) => tool !== null) === true) await loadMcpSdk();
}
