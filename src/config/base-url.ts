import type { HostPattern, UpstreamProvider } from "../providers/provider.ts";
import {
  checkCallbackUrl,
  hasCredentials,
  isLoopback,
  type UrlRules,
} from "../security/url-rules.ts";
import type { Draft } from "./connection-drafts.ts";
import type { ConfigIssue } from "./issue.ts";

/** Rules for the base URLs of connections. */
export interface BaseUrlRules extends UrlRules {
  /** Hosts, with port, that every provider accepts too (`EXTRA_BASE_HOSTS`): proxies and AI gateways. */
  readonly extraHosts: readonly string[];
}

/** Pattern of what follows the path of a URL. A base URL may not contain even a bare ? or #. */
const AFTER_PATH = /[?#]/;

/**
 * Finds URLs of a connection to which its credentials must not be sent. For a provider with hosts of its own,
 * only these and the hosts of `EXTRA_BASE_HOSTS` are allowed. For a provider without one, the base URL must
 * follow the rules for callback URLs, and may use http only for this machine.
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

/** Tells whether a base URL leads to one of the extra hosts, by https and under the rules for callback URLs. */
function isExtra(text: string | null | undefined, rules: BaseUrlRules): boolean {
  const url = URL.parse(text ?? "");
  if (text == null || url?.protocol !== "https:" || !rules.extraHosts.includes(url.host)) {
    return false;
  }
  return !AFTER_PATH.test(text) && checkCallbackUrl(text, rules).ok;
}

/**
 * Returns why the base URL of a connection is refused, for a provider without a host of its own, whose
 * connections name the host; `[]` when it is allowed.
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
  // Clients of OpenAI's API take a base URL that ends in /v1, so people enter the same one here.
  if (/\/v1\/?$/.test(verdict.value.pathname)) return "must not end in /v1, which the relay adds,";
  return verdict.value.protocol === "https:" || isLoopback(verdict.value)
    ? null
    : "must use https:";
}

/**
 * Tells whether a URL stays on one of the given hosts, or leads to this machine where `allowLocal` permits
 * it. A URL with user name, password, query or fragment does not count as staying there.
 */
export function isPinned(
  text: string,
  hosts: readonly string[],
  allowLocal: boolean,
  further: HostPattern | null = null,
): boolean {
  const url = URL.parse(text);
  // The path of a request would be lost behind a ? or #.
  if (url === null || hasCredentials(text, url) || AFTER_PATH.test(text)) return false;
  if (allowLocal && isLoopback(url)) return true;
  const isListed = hosts.some((host) => new URL(host).origin === url.origin);
  return isListed || further?.pattern.test(url.origin) === true;
}
