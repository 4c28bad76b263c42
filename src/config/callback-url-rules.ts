import { MAX_OUTPUT_URL_CHARS } from "../core/record/upstream.ts";
import type { UrlRules } from "../security/url-rules.ts";
import type { Config } from "./config.ts";

/** The part of the configuration that decides to which URLs the relay sends requests. */
export type CalledUrlsConfig = Pick<
  Config,
  "allowLocalCallbacks" | "allowIpCallbacks" | "publicUrl" | "outputsOrigin" | "isListenOn"
>;

/**
 * Returns the rules that decide whether a `callback_url` is accepted. A URL that leads to the relay itself is
 * refused. The relay is recognised by `PUBLIC_URL`, because a caller may have used another name of the relay.
 * @param origin origin of the relay (scheme, host and port) as the caller addressed it. It is used only when
 * `PUBLIC_URL` is not set.
 * @param hasAccount true for a task with an account. Its `callback_url` may be `listen:`, which leads to the
 * listeners of the account (programs that receive callbacks over a WebSocket).
 */
export function callbackUrlRulesOf(
  config: CalledUrlsConfig,
  origin: string,
  hasAccount: boolean,
): UrlRules {
  const { allowLocalCallbacks: allowLocal, allowIpCallbacks: allowIp } = config;
  const { publicUrl, outputsOrigin } = config;
  const allowListen = config.isListenOn && hasAccount;
  return { allowLocal, allowIp, ownOrigin: publicUrl ?? origin, outputsOrigin, allowListen };
}

/**
 * Returns the rules that decide whether the relay fetches an output from the upstream's own link, and whether it
 * follows a redirect of that link. They are the rules for a `callback_url`, except that links of upstreams may be
 * longer.
 * @param origin origin of the relay as the creator of the task addressed it. It is used only when `PUBLIC_URL` is not
 * set.
 */
export function sourceUrlRulesOf(config: CalledUrlsConfig, origin: string): UrlRules {
  return { ...callbackUrlRulesOf(config, origin, false), maxChars: MAX_OUTPUT_URL_CHARS };
}
