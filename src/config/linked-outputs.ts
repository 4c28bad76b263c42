import type { LinkableOutput, OutputLinks } from "../core/policy.ts";
import type { Observation } from "../providers/observation.ts";
import { needsKeyOf } from "../providers/keyed-link.ts";
import type { ImmediateHmacKey } from "../security/hmac.ts";
import { extensionOf, outputLink } from "../security/output-link.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { sourceUrlRulesOf } from "./callback-url-rules.ts";
import type { Config } from "./config.ts";

/**
 * Returns how the relay makes its own links to outputs. Without a bucket for copies it makes them only for outputs that open
 * with a key alone. Null when it makes none, because neither `OUTPUTS_URL` nor `PUBLIC_URL` is set.
 */
export function outputLinksOf(
  config: Config,
  keys: readonly ImmediateHmacKey[],
): OutputLinks | null {
  const { areOutputsKept, outputsOrigin, outputLifeMs: lifeMs } = config;
  if (outputsOrigin === null) return null;
  const linkTo = (output: LinkableOutput) => {
    if (!isFetched(output, config)) return null;
    if (!areOutputsKept && !isKeyed(output, config)) return null;
    const extension = extensionOf(output.source);
    return outputLink({ ...output, extension }, outputsOrigin, keys);
  };
  return { lifeMs, areCopied: areOutputsKept, linkTo };
}

/**
 * Returns a report on a job with the links that open only with a key in place of missing open ones, if the relay can pass
 * on what they lead to. A report with neither kind of links is one of a success without output.
 */
export function withKeyedLinks(observation: Observation, config: Config): Observation {
  const { urls, keyedUrls = [] } = observation;
  const { outputsOrigin } = config;
  if (urls.length > 0 || keyedUrls.length === 0 || outputsOrigin === null) return observation;
  const rules = sourceUrlRulesOf(config, outputsOrigin);
  const areFetched = keyedUrls.every((url) => checkCallbackUrl(url, rules).ok);
  return areFetched ? { ...observation, urls: keyedUrls } : observation;
}

function isKeyed({ source, connection }: LinkableOutput, { connections }: Config): boolean {
  const link = URL.parse(source);
  return link !== null && needsKeyOf(link, connections.get(connection ?? ""));
}

/** Tells whether the relay fetches an output: the URL rules permit it, and a real provider has generated it. */
function isFetched({ source, origin, connection }: LinkableOutput, config: Config): boolean {
  const provider = config.connections.get(connection ?? "")?.provider;
  const isSimulated = provider !== undefined && provider.polls === null;
  return !isSimulated && checkCallbackUrl(source, sourceUrlRulesOf(config, origin)).ok;
}
