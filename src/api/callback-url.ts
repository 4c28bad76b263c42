import { checkCallbackUrl } from "../callback/url-policy.ts";
import { urlPolicyOf } from "../config.ts";
import type { Relay } from "../relay.ts";
import { invalidRequest } from "./problem.ts";

/** Why the policy refuses `url` as a `callback_url`; null when it does not. */
export function refusalOf(url: string | null, relay: Relay, origin: string): string | null {
  if (url === null) return null;
  const verdict = checkCallbackUrl(url, urlPolicyOf(relay.config, origin));
  return verdict.ok ? null : verdict.reason;
}

/** @throws Problem `invalid_request`. */
export function requireAcceptable(url: string | null, relay: Relay, origin: string): void {
  const message = refusalOf(url, relay, origin);
  if (message !== null) throw invalidRequest([{ path: "/callback_url", message }]);
}
