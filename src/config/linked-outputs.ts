import type { LinkableOutput, OutputLinks } from "../core/policy.ts";
import type { ImmediateHmacKey } from "../security/hmac.ts";
import { extensionOf, outputLink } from "../security/output-link.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { sourceUrlRulesOf } from "./callback-url-rules.ts";
import type { Config } from "./config.ts";

/**
 * Returns how the relay makes its own links to outputs. Null when it makes none, because it keeps no outputs, or because
 * neither `OUTPUTS_URL` nor `PUBLIC_URL` is set.
 */
export function outputLinksOf(
  config: Config,
  keys: readonly ImmediateHmacKey[],
): OutputLinks | null {
  const { areOutputsKept, outputsOrigin, outputLifeMs: lifeMs } = config;
  if (!areOutputsKept || outputsOrigin === null) return null;
  const linkTo = (output: LinkableOutput) => {
    if (!isFetched(output, config)) return null;
    const extension = extensionOf(output.source);
    return outputLink({ ...output, extension }, outputsOrigin, keys);
  };
  return { lifeMs, linkTo };
}

/** Tells whether the relay fetches an output: the URL rules permit it, and a real provider has generated it. */
function isFetched({ source, origin, connection }: LinkableOutput, config: Config): boolean {
  const provider = config.connections.get(connection ?? "")?.provider;
  const isSimulated = provider !== undefined && provider.polls === null;
  return !isSimulated && checkCallbackUrl(source, sourceUrlRulesOf(config, origin)).ok;
}
