import { configOf, type WithStartup } from "../../config/runtime.ts";
import type * as sdk from "./mcp-sdk.ts";

export type McpSdk = typeof sdk;

let loading: Promise<McpSdk> | null = null;

/**
 * Returns the SDK of MCP (Model Context Protocol). The SDK is evaluated only at the first call, because most
 * deployments never need it and its evaluation takes about a fifth of the CPU time of the relay's start.
 */
export function loadMcpSdk(): Promise<McpSdk> {
  loading ??= import("./mcp-sdk.ts");
  return loading;
}

/**
 * Evaluates the SDK of MCP (Model Context Protocol) when the isolate starts, if an offer of
 * `OFFERS` has a tool. The platform does
 * not bill the start, but it would bill the evaluation in the first request of an MCP client.
 */
export async function prepareMcpSdk(env: WithStartup): Promise<void> {
  const offers = configOf(env)?.offers?.all ?? [];
  if (offers.some(({ tool }) => tool !== null)) await loadMcpSdk();
}
