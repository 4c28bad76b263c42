import type { Config } from "../../config/config.ts";
import { OUTPUTS_PATH } from "../../security/output-link.ts";

/**
 * Tells whether a request was sent to the host of `OUTPUTS_URL`, if outputs have a host of their own. That host serves
 * nothing but outputs: they may contain anything, so no page of the relay may have the same origin.
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
 * Returns the address of an output at the host for outputs, for a request that was sent to another host.
 * @returns null when outputs have no host of their own, or when the request was sent to that host.
 */
export function addressAtOutputsHost(
  url: URL,
  config: Pick<Config, "outputsOrigin" | "publicUrl">,
): string | null {
  const own = URL.parse(config.outputsOrigin ?? "");
  if (own === null || !isOutputsHost(own, config) || isOutputsHost(url, config)) return null;
  return `${own.origin}${url.pathname}${url.search}`;
}

/** Tells whether a path is that of a link to an output. */
export function isOutputPath(path: string): boolean {
  return path.startsWith(`${OUTPUTS_PATH}/`);
}
