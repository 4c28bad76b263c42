/** Largest length of the part of a URL that names the host, in characters; a host name has at most 253. */
const MAX_AUTHORITY_CHARS = 512;
/** Pattern of the beginning of a URL: scheme, slashes and, as a group, user name, password, host and port. */
const AUTHORITY = /^[^:/\\?#]*:[/\\\s]*([^/\\?#]*)/;

/**
 * Parses a URL that somebody else has written; null when it is not valid. One with a long host is refused
 * before it is parsed, because an international name takes quadratic time.
 */
export function parseUrl(text: string): URL | null {
  const [, authority = ""] = AUTHORITY.exec(text) ?? [];
  return authority.length > MAX_AUTHORITY_CHARS ? null : URL.parse(text);
}

/** Tells whether a text is a valid URL with the scheme `http` or `https`. */
export function isHttpUrl(text: string): boolean {
  const protocol = parseUrl(text)?.protocol;
  return protocol === "https:" || protocol === "http:";
}

/**
 * `callback_url` of a task whose callbacks go to the listeners of its account (programs that receive
 * callbacks over a WebSocket) instead of to a server.
 */
export const LISTEN_URL = "listen:";

/**
 * Returns the host of a callback's URL in the form that `fetch` uses, with its port unless the scheme implies
 * it, or the word `listen` for `LISTEN_URL`; null when the text is no URL.
 */
export function hostOf(url: string): string | null {
  return url === LISTEN_URL ? "listen" : (URL.parse(url)?.host ?? null);
}
