import { checkCallbackUrl } from "../security/url-policy.ts";
import { urlPolicyOf } from "../config/config.ts";
import type { Runtime } from "../config/runtime.ts";
import { invalidRequest } from "./http/problem.ts";

/** Why the policy refuses `url` as a `callback_url`; null when it does not. */
export function refusalOf(url: string | null, runtime: Runtime, origin: string): string | null {
  if (url === null) return null;
  const verdict = checkCallbackUrl(url, urlPolicyOf(runtime.config, origin));
  return verdict.ok ? null : verdict.error;
}

/** @throws Problem `invalid_request`. */
export function requireAcceptable(url: string | null, runtime: Runtime, origin: string): void {
  const message = refusalOf(url, runtime, origin);
  if (message !== null) throw invalidRequest([{ path: "/callback_url", message }]);
}
