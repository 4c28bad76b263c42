/**
 * Returns the path and query of a URL, for links and redirects to it. The result begins with exactly one slash, because
 * with two it would lead to another host.
 */
export function pathOf({ pathname, search }: Pick<URL, "pathname" | "search">): string {
  return pathname.replace(/^\/+/, "/") + search;
}

/** Returns the path of the login page that, after the login, leads to the page `returnTo`. */
export function loginPath(returnTo: string): string {
  return returnTo === "/" ? "/login" : `/login?return_to=${encodeURIComponent(returnTo)}`;
}

/**
 * Returns the page to which a login leads: the path and query of `text` if these belong to a page of this origin, and
 * otherwise the front page. A path that begins with two slashes is not accepted, because it would lead to another host.
 */
export function safeReturnTo(text: string, origin: string): string {
  const url = /^\/[^/\\]/.test(text) ? URL.parse(text, origin) : null;
  if (url?.origin !== origin) return "/";
  const path = url.pathname + url.search;
  return /^\/(?:[/\\]|log(?:in|out)\b)/.test(path) ? "/" : path;
}
