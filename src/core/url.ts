/** Returns the host name of a URL as `fetch` reads it, whatever its spelling; null when it is no URL. */
export function hostOf(url: string): string | null {
  return URL.parse(url)?.hostname ?? null;
}
