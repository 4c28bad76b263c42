import type { HostPattern, UpstreamProvider } from "../providers/provider.ts";
import {
  checkCallbackUrl,
  hasCredentials,
  isLoopback,
  type UrlRules,
} from "../security/url-rules.ts";
import type { Draft } from "./connection-drafts.ts";
import type { ConfigIssue } from "./issue.ts";

/** Rules that the base URLs of connections must follow. */
export interface BaseUrlRules extends UrlRules {
  /**
   * Hosts of proxies and AI gateways to which the base URL of any provider may lead, but only by https
   * (`EXTRA_BASE_HOSTS`). A host includes its port unless that is 443.
   */
  readonly extraHosts: readonly string[];
}

/**
 * Pattern of the characters that can follow the path of a URL. A base URL must not contain a ? or #, not even at its
 * end.
 */
const AFTER_PATH = /[?#]/;

/**
 * Returns the reasons why the credentials of a connection must not be sent to its URLs; empty when they may be sent.
 * For a provider with hosts of its own, only these hosts and those of `EXTRA_BASE_HOSTS` are allowed. For a provider
 * that operators run themselves, the base URL must follow the rules for callback URLs, and may use http only to reach
 * this machine.
 */
export function urlIssues(
  draft: Draft,
  provider: UpstreamProvider,
  rules: BaseUrlRules,
): readonly ConfigIssue[] {
  const { variable, name, entry } = draft;
  if (provider.baseUrls === null) {
    const jwks = entry.jwks_url == null ? [] : [`must not have a jwks_url in ${name}`];
    const messages = [...gatewayObjections(draft, provider, rules), ...jwks];
    return messages.map((message) => ({ path: variable, message }));
  }
  const hosts = [...provider.baseUrls, ...(provider.jwksUrl ? [provider.jwksUrl] : [])];
  const further = provider.hostsOfCustomers ?? null;
  const urls = [isExtra(entry.base_url, rules) ? null : entry.base_url, entry.jwks_url];
  const isAllowed = (url: string) => isPinned(url, hosts, rules.allowLocal, further);
  if (urls.every((url) => url == null || isAllowed(url))) return [];
  const known = [...hosts, ...(further === null ? [] : [further.form])].join(", ");
  const message = `must stay on the hosts of ${provider.name} in ${name}: ${known}; EXTRA_BASE_HOSTS allows others by https, ALLOW_LOCAL_CALLBACKS this machine`;
  return [{ path: variable, message }];
}

/**
 * Returns a list with the fault of the base URL of a connection whose upstream the operator describes by a declaration;
 * empty when the URL is allowed. The URL must follow the rules for callback URLs. `EXTRA_BASE_HOSTS` can allow any
 * host, also a private one and by http. To allow this machine, `ALLOW_LOCAL_CALLBACKS` is enough.
 */
export function declaredUrlIssues(
  { variable, name, entry }: Draft,
  rules: BaseUrlRules,
): readonly ConfigIssue[] {
  const text = entry.base_url ?? "";
  const url = URL.parse(text);
  const path = `${variable}.${name}.base_url`;
  if (url === null) return [{ path, message: "must be a valid absolute URL" }];
  if (AFTER_PATH.test(text)) return [{ path, message: "must not contain a query or fragment" }];
  const verdict = checkCallbackUrl(text, rules);
  if (verdict.ok && (url.protocol === "https:" || isLoopback(url))) return [];
  const isListed = rules.extraHosts.includes(url.host) && /^https?:$/.test(url.protocol);
  if (isListed && !hasCredentials(text, url)) return [];
  const reason = verdict.ok ? "must use https:" : verdict.error;
  const cure = "EXTRA_BASE_HOSTS allows a private host, ALLOW_LOCAL_CALLBACKS this machine";
  return [{ path, message: `${reason} (${cure})` }];
}

/**
 * Tells whether a base URL leads to one of the hosts of `EXTRA_BASE_HOSTS`, uses https, and follows the rules for
 * callback URLs.
 */
function isExtra(text: string | null | undefined, rules: BaseUrlRules): boolean {
  const url = URL.parse(text ?? "");
  if (text == null || url?.protocol !== "https:" || !rules.extraHosts.includes(url.host)) {
    return false;
  }
  return !AFTER_PATH.test(text) && checkCallbackUrl(text, rules).ok;
}

/**
 * Returns the reasons why the base URL of a connection is refused; empty when it is allowed. Called for a provider that
 * operators run themselves, where each connection names its own host.
 */
function gatewayObjections(
  { name, entry }: Draft,
  provider: UpstreamProvider,
  rules: UrlRules,
): readonly string[] {
  const text = entry.base_url ?? null;
  if (text === null) {
    return [`must have a base_url in ${name}, because ${provider.name} has no host of its own`];
  }
  const reason = objectionTo(text, rules);
  return reason === null ? [] : [`${reason} as the base_url of ${name}`];
}

function objectionTo(text: string, rules: UrlRules): string | null {
  const verdict = checkCallbackUrl(text, rules);
  if (!verdict.ok) return verdict.error;
  if (AFTER_PATH.test(text)) return "must not contain a query or fragment";
  // People may enter the base URL that they give to clients of OpenAI's API, which ends in /v1.
  if (/\/v1\/?$/.test(verdict.value.pathname)) return "must not end in /v1, which the relay adds,";
  return verdict.value.protocol === "https:" || isLoopback(verdict.value)
    ? null
    : "must use https:";
}

/**
 * Tells whether a URL leads to one of the given hosts or, if `allowLocal` permits it, to this machine. False for a URL
 * with user name, password, query or fragment.
 */
export function isPinned(
  text: string,
  hosts: readonly string[],
  allowLocal: boolean,
  further: HostPattern | null = null,
): boolean {
  const url = URL.parse(text);
  // The path that is appended for a request would be lost behind a ? or #.
  if (url === null || hasCredentials(text, url) || AFTER_PATH.test(text)) return false;
  if (allowLocal && isLoopback(url)) return true;
  const isListed = hosts.some((host) => new URL(host).origin === url.origin);
  return isListed || further?.pattern.test(url.origin) === true;
}
