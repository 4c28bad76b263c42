import type { Config } from "../../config/config.ts";
import { OUTPUTS_PATH } from "../../security/output-link.ts";

/**
 * Tells whether a request addresses the host of `OUTPUTS_URL`, when outputs have a host of their own. This host serves
 * only outputs, because the bytes of outputs come from strangers and no page may have the same origin.
 */
export function isOutputsHost(
  { host }: URL,
  config: Pick<Config, "outputsOrigin" | "publicUrl"> | null,
): boolean {
  if (config === null || config.outputsOrigin === null || config.publicUrl === null) return false;
  const own = URL.parse(config.outputsOrigin)?.host;
  return host === own && own !== URL.parse(config.publicUrl)?.host;
}

/**
 * Returns the address of an output at the host of outputs, for a request that came to another host. Null when outputs
 * have no host of their own, or the request came to it.
 */
export function addressAtOutputsHost(
  url: URL,
  config: Pick<Config, "outputsOrigin" | "publicUrl">,
): string | null {
  const own = URL.parse(config.outputsOrigin ?? "");
  if (own === null || !isOutputsHost(own, config) || isOutputsHost(url, config)) return null;
  return `${own.origin}${url.pathname}${url.search}`;
}

/** Tells whether a path is the path of a link to an output. */
export function isOutputPath(path: string): boolean {
  return path.startsWith(`${OUTPUTS_PATH}/`);
}
