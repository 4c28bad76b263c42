/** Header with which the script of a page (client/refresh.js) marks the request that refreshes the page. */
const HEADER = "X-Refresh";

/**
 * Returns the value of the header that marks the refresh of an open page. If the page states the version of its
 * content, the value is the version that the page shows.
 * @returns null when the request is not a refresh.
 */
export function shownBefore({ headers }: Request): string | null {
  return headers.get(HEADER);
}

/** Tells whether a request is the refresh of an open page, which replaces only some parts of the page. */
export function isRefresh(request: Request): boolean {
  return shownBefore(request) !== null;
}
