/** Returns the host name of a URL in the form that `fetch` uses; null when the text is no URL. */
export function hostOf(url: string): string | null {
  return URL.parse(url)?.hostname ?? null;
}
