import type { LinkableOutput, OutputLinks } from "../core/policy.ts";
import type { Provable } from "../core/record/upstream.ts";
import { inlinePointer } from "../providers/inline-output.ts";
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
 * outputs or is needed for its key. An output that needs a key which its link must not get stays with the upstream.
 */
function isFetched(output: LinkableOutput, config: Config): boolean {
  const { source, origin, connection: name } = output;
  const connection = config.connections.get(name ?? "");
  if (connection !== undefined && connection.provider.polls === null) return false;
  const isKeyed = isFetchedWithKey(output, connection);
  if (!isKeyed && isKeyNeeded(source, connection)) return false;
  const isUseful = config.areOutputsKept || isKeyed;
  return isUseful && checkCallbackUrl(source, sourceUrlRulesOf(config, origin)).ok;
}

/**
 * Tells whether the relay fetches an output with the key of a connection: its link is on the connection's own origin,
 * opens only with the key, and was got from the upstream itself. Whoever else may report results could otherwise read
 * with the key what it opens.
 */
export function isFetchedWithKey(
  { source, isUnproven }: { readonly source: string } & Provable,
  connection: Connection | undefined,
): boolean {
  return isUnproven !== true && isKeyNeeded(source, connection);
}

/**
 * Tells whether a link is on the own origin of a connection, and opens only with its key. So does an output that stands in
 * the answer to a poll.
 */
function isKeyNeeded(link: string, connection: Connection | undefined): boolean {
  if (connection === undefined || connection.provider.polls === null) return false;
  const url = URL.parse(link);
  if (url === null || url.origin !== URL.parse(connection.baseUrl)?.origin) return false;
  return inlinePointer(url) !== null || connection.provider.needsKey?.(url) === true;
}
