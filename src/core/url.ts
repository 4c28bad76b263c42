/**
 * Largest length of that part of a URL which contains user name, password, host and port, in characters. A host name
 * has at most 253 characters.
 */
const MAX_AUTHORITY_CHARS = 512;
/**
 * Pattern of the beginning of a URL: the scheme and slashes, followed by user name, password, host and port, which are
 * captured as one group.
 */
const AUTHORITY = /^[^:/\\?#]*:[/\\\s]*([^/\\?#]*)/;

/**
 * Returns the URL that a text from outside contains. Null when the text is no valid URL. Null also when its host is
 * very long: such a URL is not parsed, because parsing an international name takes quadratic time.
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
 * Value of `callback_url` for a task whose callbacks go to the listeners of its account (programs that receive
 * callbacks over a WebSocket) instead of to an HTTP server.
 */
export const LISTEN_URL = "listen:";

/**
 * Returns the host of a callback's URL in the form that `fetch` uses, with the port unless it is the default of the
 * scheme. For `LISTEN_URL` it returns the word `listen`. Null when the text is no URL.
 */
export function hostOf(url: string): string | null {
  return url === LISTEN_URL ? "listen" : (URL.parse(url)?.host ?? null);
}

/** Returns a base URL without slashes at its end, so that paths can be appended to it. */
export function withoutSlash(baseUrl: string): string {
  return baseUrl.replace(/(?<!\/)\/+$/, "");
}
