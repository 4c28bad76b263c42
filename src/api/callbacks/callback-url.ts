import { checkCallbackUrl, isLoopback, type UrlRules } from "../../security/url-rules.ts";
import { callbackUrlRulesOf } from "../../config/callback-url-rules.ts";
import type { Runtime } from "../../config/runtime.ts";
import { endpointIn } from "../../core/record/endpoint-copy.ts";
import { invalidRequest } from "../http/problem.ts";

/**
 * Returns why the URL rules (https, no private address, …) forbid this `callback_url`.
 * @param origin origin of the relay to which the request was sent.
 * @param hasAccount true when the task has an account, whose listeners can then receive its callbacks.
 * @returns null when the rules permit the URL, or when there is no URL.
 */
export function refusalOf(
  url: string | null,
  { config }: Runtime,
  origin: string,
  hasAccount: boolean,
): string | null {
  if (url === null) return null;
  const rules = callbackUrlRulesOf(config, origin, hasAccount);
  const verdict = checkCallbackUrl(url, rules);
  return verdict.ok ? null : `${verdict.error}${localCure(url, rules)}`;
}

/**
 * Returns why the URL rules forbid this `callback_url` of a new task. The parameters are those of `refusalOf`.
 * @returns null also for a text that stands for an endpoint, which is looked up elsewhere (`endpointOfTask`).
 */
export function refusalForTask(...target: Parameters<typeof refusalOf>): string | null {
  const [url] = target;
  return url !== null && endpointIn(url) !== null ? null : refusalOf(...target);
}

/**
 * Returns the words that end the refusal of a URL of the relay's own machine: they name the variable that would allow
 * such a URL. Returns "" for any other URL.
 */
function localCure(text: string, { allowLocal }: UrlRules): string {
  const url = URL.parse(text);
  if (allowLocal || url === null || !isLoopback(url)) return "";
  return " (for development, ALLOW_LOCAL_CALLBACKS=true allows receivers on the relay's own machine)";
}

/**
 * Checks the `callback_url` of a body that names an endpoint in a field of its own. The parameters are those of
 * `refusalOf`.
 * @throws Problem `invalid_request` when the URL rules (https, no private address, …) forbid the URL.
 */
export function requireAcceptable(...target: Parameters<typeof refusalOf>): void {
  const [url] = target;
  const isEndpoint = url !== null && endpointIn(url) !== null;
  const message = isEndpoint
    ? "must be a URL: an endpoint is named as endpoint"
    : refusalOf(...target);
  if (message !== null) throw invalidRequest([{ path: "/callback_url", message }]);
}
