import { checkCallbackUrl } from "../security/url-rules.ts";
import { callbackUrlRulesOf } from "../config/callback-url-rules.ts";
import type { Runtime } from "../config/runtime.ts";
import { invalidRequest } from "./http/problem.ts";

/**
 * Returns the reason why the relay's rules for receivers (https, no private address, …) forbid this
 * `callback_url`; null when they allow it or there is none.
 * @param hasAccount true for a task with an account, whose callbacks can go to the account's listeners.
 */
export function refusalOf(
  url: string | null,
  { config }: Runtime,
  origin: string,
  hasAccount: boolean,
): string | null {
  if (url === null) return null;
  const verdict = checkCallbackUrl(url, callbackUrlRulesOf(config, origin, hasAccount));
  return verdict.ok ? null : verdict.error;
}

/**
 * Checks a `callback_url`; see `refusalOf`.
 * @throws Problem `invalid_request` when the relay's rules for receivers (https, no private address, …)
 * forbid it.
 */
export function requireAcceptable(...target: Parameters<typeof refusalOf>): void {
  const message = refusalOf(...target);
  if (message !== null) throw invalidRequest([{ path: "/callback_url", message }]);
}
