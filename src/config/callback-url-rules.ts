import type { UrlRules } from "../security/url-rules.ts";
import type { Config } from "./config.ts";

/**
 * Selects the rules that decide whether a `callback_url` is accepted. A URL that leads to the relay itself is
 * refused; the host of the relay is that of `PUBLIC_URL`, because a caller may have reached the relay under
 * another name.
 * @param origin origin of the relay (scheme, host and port), as the caller addressed it, which counts only
 * without `PUBLIC_URL`.
 * @param hasAccount true for a task with an account: its `callback_url` can be `listen:`, which leads to the
 * account's listeners (programs that receive callbacks over a WebSocket).
 */
export function callbackUrlRulesOf(config: Config, origin: string, hasAccount: boolean): UrlRules {
  const { allowLocalCallbacks: allowLocal, allowIpCallbacks: allowIp, publicUrl } = config;
  const allowListen = config.isListenOn && hasAccount;
  return { allowLocal, allowIp, ownOrigin: publicUrl ?? origin, allowListen };
}
