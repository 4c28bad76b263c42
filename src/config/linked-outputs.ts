import { extensionOfType } from "../core/output-metadata/media-type.ts";
import type { LinkableFile, LinkableOutput, OutputLinks } from "../core/policy.ts";
import type { Provable } from "../core/record/upstream.ts";
import { inlinePointer } from "../providers/inline-output.ts";
import type { Connection } from "../providers/provider.ts";
import type { ImmediateHmacKey } from "../security/hmac.ts";
import { extensionOf, OTHER_EXTENSION, outputLink } from "../security/output-link.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { sourceUrlRulesOf } from "./callback-url-rules.ts";
import type { Config } from "./config.ts";

/**
 * Returns the settings of the relay's own links to outputs, and the function that makes such a link. When the relay
 * stores copies of outputs, every output gets a link of the relay; otherwise only an output that cannot be fetched
 * without a key gets one. Null when neither `OUTPUTS_URL` nor `PUBLIC_URL` is set.
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
  const linkToFile = ({ mediaType, ...file }: LinkableFile) => {
    const extension = extensionOfType(mediaType, OTHER_EXTENSION);
    return outputLink({ ...file, extension }, outputsOrigin, keys);
  };
  return { areKept, lifeMs, linkTo, linkToFile };
}

/**
 * Tells whether the relay fetches an output. It does so when the URL rules permit the output's link, when the output
 * does not come from a simulated provider, and when the relay either stores copies of outputs or must send a key to get
 * this one. An output that needs a key is not fetched if the key must not be sent to its link.
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
 * Tells whether the relay fetches an output with the key of a connection. It does so when the link is on the
 * connection's own origin, can be opened only with the key, and came from the upstream itself. A link that somebody
 * else has sent gets no key, because that sender could then read whatever the key opens.
 */
export function isFetchedWithKey(
  { source, isUnproven }: { readonly source: string } & Provable,
  connection: Connection | undefined,
): boolean {
  return isUnproven !== true && isKeyNeeded(source, connection);
}

/**
 * Tells whether a link is on a connection's own origin and can be opened only with the connection's key. This includes
 * a link to an output inside the answer to a poll.
 */
export function isKeyNeeded(link: string, connection: Connection | undefined): boolean {
  if (connection === undefined || connection.provider.polls === null) return false;
  const url = URL.parse(link);
  if (url === null || url.origin !== URL.parse(connection.baseUrl)?.origin) return false;
  return inlinePointer(url) !== null || connection.provider.needsKey?.(url) === true;
}
