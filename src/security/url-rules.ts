/**
 * The rules for URLs that clients write. They keep the relay from sending requests to private networks,
 * to the machine it runs on and to itself.
 */
import { failure, type Result, success } from "../core/result.ts";
import { LISTEN_URL, parseUrl } from "../core/url.ts";
import { isGlobalUnicast, isIpHost } from "./ip-address.ts";

const MAX_CHARS = 2048;

/**
 * Domains without public hosts. RFC 6761, RFC 6762 with appendix G and RFC 7686 define most of them, and ICANN
 * `internal`. `/etc/hosts` often assigns `localdomain` to the machine itself; `arpa` serves the DNS and
 * contains `home.arpa` (RFC 8375).
 */
const PRIVATE_ZONE =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|onion|arpa)$/;

// WHATWG URL removes these characters silently, so the URL that is called would differ from the one
// written.
const SILENTLY_DROPPED = /^\s|\s$|\p{Cc}/u;
// WHATWG URL drops an empty user name (`https://@host/`). An @ after the authority is harmless.
const USERINFO = /^https?:[/\\]*[^/\\?#]*@/i;
const LOOPBACK = /^(?:(?:[^.]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Reason for refusing a URL with an IP address: the end of a message that begins with the name of a field
 * or variable.
 */
export const IP_REFUSAL =
  "must use a host name: Cloudflare Workers cannot call IP addresses (error 1003); elsewhere ALLOW_IP_CALLBACKS allows them";

/**
 * Reason for refusing a URL with a user name or password, which `fetch` would drop or refuse: the end of a
 * message that begins with the name of a field or variable.
 */
export const CREDENTIALS_REFUSAL = "must not contain a user name or password";

/**
 * Reason for refusing the special URL `listen:`, with which callbacks go to programs of an account that
 * receive them over a WebSocket (listeners): the end of a message that begins with the name of a field.
 */
export const LISTEN_REFUSAL = "may be listen: only with LISTEN=true, for a task with an account";

/** The rules of this deployment for URLs that clients write. */
export interface UrlRules {
  /** States that `http:` and loopback hosts are allowed too, for development. */
  readonly allowLocal: boolean;
  /** States that public IP addresses are allowed too, for a relay that does not run on Cloudflare. */
  readonly allowIp: boolean;
  /**
   * Origin under which the relay itself is reached, e.g. "https://relay.example.com". A URL that leads to it
   * is refused; an origin that is not a URL is ignored.
   */
  readonly ownOrigin: string;
  /**
   * States that the special URL `listen:` is allowed too, with which callbacks go to programs of an account
   * that receive them over a WebSocket (listeners); by default it is not.
   */
  readonly allowListen?: boolean;
}

/**
 * Decides whether the relay may send a request to a URL that a client wrote. Never throws. The error
 * continues "callback_url" in a message and never quotes the URL.
 *
 * The URL is judged as WHATWG URL parses it, because fetch does the same: `https://0x7f.1` is 127.0.0.1.
 * IP literals need `allowIp` and must be global unicast by the IANA special-purpose address registries;
 * `allowLocal` allows loopback without `allowIp`. A name that
 * resolves to a private address passes: only the network can refuse that.
 */
export function checkCallbackUrl(text: string, rules: UrlRules): Result<URL, string> {
  const url = parseUrl(text);
  if (url === null) return failure("must be a valid absolute URL");
  if (text === LISTEN_URL) return rules.allowListen ? success(url) : failure(LISTEN_REFUSAL);
  const reason = textObjection(text, url) ?? targetObjection(url, rules);
  return reason === null ? success(url) : failure(reason);
}

function textObjection(text: string, url: URL): string | null {
  if (Math.max(text.length, url.href.length) > MAX_CHARS) {
    return `must be at most ${MAX_CHARS} characters long, also when normalised`;
  }
  if (SILENTLY_DROPPED.test(text)) {
    return "must not contain control characters or surrounding whitespace";
  }
  return hasCredentials(text, url) ? CREDENTIALS_REFUSAL : null;
}

/**
 * Tells whether a URL contains a user name or a password. The text is examined too, because an empty user
 * name (`https://@host`) no longer shows in the parsed `url`.
 */
export function hasCredentials(text: string, url: URL): boolean {
  return url.username !== "" || url.password !== "" || USERINFO.test(text);
}

function targetObjection(url: URL, rules: UrlRules): string | null {
  if (url.protocol !== "https:" && !(rules.allowLocal && url.protocol === "http:")) {
    return rules.allowLocal ? "must use https: or http:" : "must use https:";
  }
  if (reachesRelay(url, rules.ownOrigin)) return "must not point at the relay itself";
  const host = hostOf(url);
  if (rules.allowLocal && LOOPBACK.test(host)) return null;
  return isIpHost(host) ? ipObjection(host, rules) : nameObjection(host);
}

/** Tells whether the host is this machine, where a developer's receivers and upstreams run. */
export function isLoopback(url: URL): boolean {
  return LOOPBACK.test(hostOf(url));
}

/** Tells whether the host is an IP address, in any spelling that `fetch` understands. */
export function isIpLiteral(url: URL): boolean {
  return isIpHost(hostOf(url));
}

/** Returns the host without the final dot of a fully qualified name, which means the same host. */
function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}

/**
 * Tells whether a URL leads to the relay itself. On Cloudflare every port of the relay's host name leads to
 * the relay, so ports are ignored; on a developer's machine, where receivers have the same host name, the
 * port decides.
 */
function reachesRelay(url: URL, origin: string): boolean {
  const own = URL.parse(origin);
  if (own === null) return false;
  if (LOOPBACK.test(hostOf(own)) && LOOPBACK.test(hostOf(url))) return portOf(own) === portOf(url);
  return hostOf(own) === hostOf(url);
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80");
}

function ipObjection(host: string, { allowIp }: UrlRules): string | null {
  if (!isGlobalUnicast(host)) return "must not use an IP address that is not public";
  return allowIp ? null : IP_REFUSAL;
}

function nameObjection(host: string): string | null {
  if (host.split(".").includes("")) return "must not have an empty label in the host name";
  if (PRIVATE_ZONE.test(host)) return "must not use a local or private host name";
  return host.includes(".") ? null : "must use a fully qualified host name";
}
