/**
 * The rules for URLs that clients write. They make sure that the relay sends no requests to private networks, to the
 * machine on which it runs, or to itself.
 */
import { failure, type Result, success } from "../core/result.ts";
import { LISTEN_URL, parseUrl } from "../core/url.ts";
import { isGlobalUnicast, isIpHost } from "./ip-address.ts";

const MAX_CHARS = 2048;
const MAX_HOST_CHARS = 253;
const MAX_LABEL_CHARS = 63;

/**
 * Pattern of domains that have no public hosts. Most of them are defined by RFC 6761, RFC 6762 (appendix G) and RFC
 * 7686, and `internal` by ICANN. `/etc/hosts` often uses `localdomain` for the machine itself. `arpa` serves the DNS
 * and contains `home.arpa` (RFC 8375).
 */
const PRIVATE_ZONE =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|onion|arpa)$/;

// The parser of WHATWG URL removes or replaces these characters without an error, so another URL would be called than the
// one that was written.
const SILENTLY_CHANGED = /^\s|\s$|[\p{Cc}\p{Cs}]/u;
// The parser of WHATWG URL drops an empty user name (`https://@host/`). An @ behind the host is harmless.
const USERINFO = /^https?:[/\\]*[^/\\?#]*@/i;
const LOOPBACK = /^(?:(?:[^.]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Reason why a URL with an IP address is refused. The text is the end of a message that begins with the name of a field
 * or variable.
 */
export const IP_REFUSAL =
  "must use a host name: Cloudflare Workers cannot call IP addresses (error 1003); elsewhere ALLOW_IP_CALLBACKS allows them";

/**
 * Reason why a URL with a user name or password is refused: `fetch` would drop them or fail. The text is the end of a
 * message that begins with the name of a field or variable.
 */
export const CREDENTIALS_REFUSAL = "must not contain a user name or password";

/**
 * Reason why the special URL `listen:` is refused. With this URL, callbacks go to the listeners of an account (programs
 * that receive callbacks over a WebSocket). The text is the end of a message that begins with the name of a field.
 */
export const LISTEN_REFUSAL = "may be listen: only with LISTEN=true, for a task with an account";

/** Settings that decide which URLs this deployment accepts from clients. */
export interface UrlRules {
  /** True when `http:` and hosts of this machine are allowed too, for development. */
  readonly allowLocal: boolean;
  /** True when public IP addresses are allowed too, for a relay that does not run on Cloudflare. */
  readonly allowIp: boolean;
  /**
   * Origin of the relay itself, e.g. "https://relay.example.com". A URL that leads to it is refused. An origin that
   * is not a URL has no effect.
   */
  readonly ownOrigin: string;
  /**
   * Origin of the relay's links to outputs, e.g. "https://outputs.example.com". A URL that leads to it is refused too.
   * Absent or null when these links begin with the origin of the relay itself.
   */
  readonly outputsOrigin?: string | null;
  /** Largest length of a URL in characters; 2048 when absent. */
  readonly maxChars?: number;
  /**
   * True when the special URL `listen:` is allowed too. With this URL, callbacks go to the listeners of an account
   * (programs that receive callbacks over a WebSocket). When absent, the URL is not allowed.
   */
  readonly allowListen?: boolean;
}

/**
 * Returns the parsed URL if the relay may send a request to this URL, which a client wrote; otherwise the reason of the
 * refusal. The reason continues a message that begins with "callback_url", and never quotes the URL. The function never
 * throws.
 *
 * The URL is judged as the parser of WHATWG URL reads it, because `fetch` uses the same parser: `https://0x7f.1` is
 * 127.0.0.1. An IP address is accepted only with `allowIp`, and must be global unicast by the IANA special-purpose
 * address registries. An address of this machine needs only `allowLocal`. A host name that resolves to a private
 * address is accepted, because only the network can refuse it.
 */
export function checkCallbackUrl(text: string, rules: UrlRules): Result<URL, string> {
  const url = parseUrl(text);
  if (url === null) return failure("must be a valid absolute URL");
  if (text === LISTEN_URL) return rules.allowListen ? success(url) : failure(LISTEN_REFUSAL);
  const reason = textObjection(text, url, rules) ?? targetObjection(url, rules);
  return reason === null ? success(url) : failure(reason);
}

function textObjection(text: string, url: URL, { maxChars = MAX_CHARS }: UrlRules): string | null {
  if (Math.max(text.length, url.href.length) > maxChars) {
    return `must be at most ${maxChars} characters long, also when normalised`;
  }
  if (SILENTLY_CHANGED.test(text)) {
    return "must not contain control characters, lone surrogates or surrounding whitespace";
  }
  return hasCredentials(text, url) ? CREDENTIALS_REFUSAL : null;
}

/**
 * Tells whether a URL contains a user name or a password. The original text is examined too, because an empty user name
 * (`https://@host`) is missing in the parsed `url`.
 */
export function hasCredentials(text: string, url: URL): boolean {
  return url.username !== "" || url.password !== "" || USERINFO.test(text);
}

function targetObjection(url: URL, rules: UrlRules): string | null {
  if (url.protocol !== "https:" && !(rules.allowLocal && url.protocol === "http:")) {
    return rules.allowLocal ? "must use https: or http:" : "must use https:";
  }
  const { ownOrigin, outputsOrigin } = rules;
  if (reachesRelay(url, parsedOwn(ownOrigin)) || reachesRelay(url, parsedOutputs(outputsOrigin))) {
    return "must not point at the relay itself";
  }
  const host = hostOf(url);
  if (rules.allowLocal && LOOPBACK.test(host)) return null;
  return isIpHost(host) ? ipObjection(host, rules) : nameObjection(host);
}

/** Tells whether the host of a URL is this machine, on which the receivers and upstreams of a developer run. */
export function isLoopback(url: URL): boolean {
  return LOOPBACK.test(hostOf(url));
}

/** Tells whether the host of a URL is an IP address, in any spelling that `fetch` understands. */
export function isIpLiteral(url: URL): boolean {
  return isIpHost(hostOf(url));
}

/**
 * Returns the host of a URL without the dot that may end a fully qualified name. The host is the same with and without
 * this dot.
 */
function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}

/**
 * Tells whether a URL leads to the relay itself. On Cloudflare, all ports of the relay's host name lead to the
 * relay, so the port is ignored. On a developer's machine, receivers have the same host name as the relay, so the
 * port decides.
 */
function reachesRelay(url: URL, own: URL | null): boolean {
  if (own === null) return false;
  if (LOOPBACK.test(hostOf(own)) && LOOPBACK.test(hostOf(url))) return portOf(own) === portOf(url);
  return hostOf(own) === hostOf(url);
}

const parsedOwn = originParser();
const parsedOutputs = originParser();

/**
 * Returns a function that parses origins and remembers the latest one: a relay has few origins, and each URL is
 * compared with one. An absent origin is not parsed, because in workerd an `URL.parse` that fails takes eight times as
 * long as one that succeeds.
 */
function originParser(): (text: string | null | undefined) => URL | null {
  let latest: { readonly text: string; readonly url: URL | null } = { text: "", url: null };
  return (text) => {
    if (text == null) return null;
    if (latest.text !== text) latest = { text, url: URL.parse(text) };
    return latest.url;
  };
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80");
}

function ipObjection(host: string, { allowIp }: UrlRules): string | null {
  if (!isGlobalUnicast(host)) return "must not use an IP address that is not public";
  return allowIp ? null : IP_REFUSAL;
}

function nameObjection(host: string): string | null {
  const labels = host.split(".");
  if (labels.includes("")) return "must not have an empty label in the host name";
  // RFC 1035 §2.3.4. The parser of URLs accepts longer ones, some of which it then refuses in its own spelling.
  if (host.length > MAX_HOST_CHARS || labels.some(({ length }) => length > MAX_LABEL_CHARS)) {
    return "must not have a host name of more than 253 characters, or 63 between two dots";
  }
  if (PRIVATE_ZONE.test(host)) return "must not use a local or private host name";
  return host.includes(".") ? null : "must use a fully qualified host name";
}
