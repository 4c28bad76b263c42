import type { Config } from "../../config/config.ts";
import { OUTPUTS_PATH } from "../../security/output-link.ts";

/**
 * Tells whether a request addresses the host of `OUTPUTS_URL`, which serves outputs and nothing else. Strangers have
 * made the outputs, so nothing else may have the same origin.
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
 * Returns the address of an output that a request asks for at another host than its own. Null where outputs have no host for
 * themselves, or the request addresses it.
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
