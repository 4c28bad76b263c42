import { checkCallbackUrl } from "../security/url-policy.ts";
import { urlPolicyOf } from "../config/config.ts";
import type { Runtime } from "../config/runtime.ts";
import { invalidRequest } from "./http/problem.ts";

/**
 * Returns the reason why the relay's rules for receivers (https, no private address, …) forbid this
 * `callback_url`; null when they allow it or there is none.
 */
export function refusalOf(url: string | null, runtime: Runtime, origin: string): string | null {
  if (url === null) return null;
  const verdict = checkCallbackUrl(url, urlPolicyOf(runtime.config, origin));
  return verdict.ok ? null : verdict.error;
}

/**
 * Checks a `callback_url`.
 * @throws Problem `invalid_request` when the relay's rules for receivers (https, no private address, …)
 * forbid it.
 */
export function requireAcceptable(url: string | null, runtime: Runtime, origin: string): void {
  const message = refusalOf(url, runtime, origin);
  if (message !== null) throw invalidRequest([{ path: "/callback_url", message }]);
}
