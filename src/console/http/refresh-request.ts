/** Header with which the script of a page (client/refresh.js) marks the request that refreshes the page. */
const HEADER = "X-Refresh";

/**
 * Returns the value of the header that marks the refresh of an open page: the version of the content that the open page
 * shows, on pages that state one. Null means that the request is no refresh.
 */
export function shownBefore({ headers }: Request): string | null {
  return headers.get(HEADER);
}

/** Tells whether a request is the refresh of an open page, which replaces only some parts of the page. */
export function isRefresh(request: Request): boolean {
  return shownBefore(request) !== null;
}
