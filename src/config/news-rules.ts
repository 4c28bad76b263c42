import type { NewsRules } from "../providers/observation.ts";
import { type Connection, secretsOf } from "../providers/provider.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { type CalledUrlsConfig, sourceUrlRulesOf } from "./callback-url-rules.ts";
import { hiddenTexts } from "../security/hidden-texts.ts";
import type { Config } from "./config.ts";

/** The part of the configuration that decides how the relay reads what a provider reports about a job. */
export type NewsConfig = CalledUrlsConfig & Pick<Config, "isErrorTextGeneric" | "areOutputsKept">;

/**
 * Returns the rules by which the relay reads what a provider reports about a job. They say whether clients may read the
 * upstream's own error text. They also say whether the relay can give clients links of its own to outputs that can be
 * opened only with the key of the connection, and to outputs that are inside the answer itself.
 */
export function newsRulesOf(config: NewsConfig, connection: Connection): NewsRules {
  const areKeyedLinksServed = canServeKeyedLinks(config, connection);
  const areInlineOutputsKept = config.areOutputsKept && areKeyedLinksServed;
  return {
    isGeneric: config.isErrorTextGeneric,
    secrets: hiddenTexts(...secretsOf(connection)),
    areKeyedLinksServed,
    areInlineOutputsKept,
  };
}

/**
 * Tells whether the relay can give clients links of its own to outputs that can be opened only with the key of a
 * connection: it has an address for its links, the connection has a key, and the URL rules permit requests to its host.
 */
function canServeKeyedLinks(config: NewsConfig, { baseUrl, key }: Connection): boolean {
  if (config.outputsOrigin === null || key === null) return false;
  return checkCallbackUrl(baseUrl, sourceUrlRulesOf(config, "")).ok;
}
