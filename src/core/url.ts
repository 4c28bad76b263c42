/**
 * Largest length of the part of a URL that contains user name, password, host and port, in characters. A host name
 * has at most 253.
 */
const MAX_AUTHORITY_CHARS = 512;
/**
 * Pattern of the beginning of a URL: the scheme and slashes, and then, captured, user name, password, host and
 * port.
 */
const AUTHORITY = /^[^:/\\?#]*:[/\\\s]*([^/\\?#]*)/;

/**
 * Returns the URL that a text from outside contains; null when the text is no valid URL. A URL with a very long
 * host also gives null without being parsed, because parsing an international name takes quadratic time.
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
