import type { LinkableOutput, OutputLinks } from "../core/policy.ts";
import type { Connection } from "../providers/provider.ts";
import type { ImmediateHmacKey } from "../security/hmac.ts";
import { extensionOf, outputLink } from "../security/output-link.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { sourceUrlRulesOf } from "./callback-url-rules.ts";
import type { Config } from "./config.ts";

/**
 * Returns how the relay makes its own links to outputs: to all that it keeps or, where it keeps none, to those that open
 * only with a key. Null when neither `OUTPUTS_URL` nor `PUBLIC_URL` is set.
 */
export function outputLinksOf(
  config: Config,
  keys: readonly ImmediateHmacKey[],
): OutputLinks | null {
  const { areOutputsKept: areKept, outputsOrigin, outputLifeMs: lifeMs } = config;
  if (outputsOrigin === null) return null;
  const linkTo = (output: LinkableOutput) => {
    if (!isFetched(output, config)) return null;
    const extension = extensionOf(output.source);
    return outputLink({ ...output, extension }, outputsOrigin, keys);
  };
  return { areKept, lifeMs, linkTo };
}

/**
 * Tells whether the relay fetches an output: the URL rules permit it, a real provider has generated it, and the relay keeps
 * outputs or is needed for its key.
 */
function isFetched({ source, origin, connection: name }: LinkableOutput, config: Config): boolean {
  const connection = config.connections.get(name ?? "");
  if (connection !== undefined && connection.provider.polls === null) return false;
  const isUseful = config.areOutputsKept || isKeyNeeded(source, connection);
  return isUseful && checkCallbackUrl(source, sourceUrlRulesOf(config, origin)).ok;
}

/** Tells whether a link is on the own origin of a connection, and opens only with its key. */
export function isKeyNeeded(link: string, connection: Connection | undefined): boolean {
  if (connection === undefined || connection.provider.polls === null) return false;
  const url = URL.parse(link);
  if (url === null || url.origin !== URL.parse(connection.baseUrl)?.origin) return false;
  return connection.provider.needsKey?.(url) === true;
}
