/**
 * Returns the path and query of a URL, for links and redirects to it. The text begins with exactly one slash, because
 * a text with two slashes would lead to another host.
 */
export function pathOf({ pathname, search }: Pick<URL, "pathname" | "search">): string {
  return pathname.replace(/^\/+/, "/") + search;
}

/** Returns the path of the login page. The login then leads to the page `returnTo`. */
export function loginPath(returnTo: string): string {
  return returnTo === "/" ? "/login" : `/login?return_to=${encodeURIComponent(returnTo)}`;
}

/**
 * Returns the page to which a login leads. This is the path and query of `text` if they belong to a page of this
 * origin, otherwise the front page. A path that begins with two slashes is not accepted, because it would lead to
 * another host.
 */
export function safeReturnTo(text: string, origin: string): string {
  const url = /^\/[^/\\]/.test(text) ? URL.parse(text, origin) : null;
  if (url?.origin !== origin) return "/";
  const path = url.pathname + url.search;
  return /^\/(?:[/\\]|log(?:in|out)\b)/.test(path) ? "/" : path;
}
