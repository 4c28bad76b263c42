const READMES = import.meta.glob<string>(
  ["../../src/providers/*/README.md", "../../src/providers/generic/upstreams/*/README.md"],
  { eager: true, import: "default", query: "?raw" },
);

/**
 * Pages of the providers and of the declared upstreams, by the name of their folder.
 */
export const PAGES: ReadonlyMap<string, string> = new Map(
  Object.entries(READMES).map(([path, text]) => [path.split("/").at(-2) ?? "", text]),
);

/** Returns the page of a provider. @throws Error when its folder has none. */
export function pageOf(name: string): string {
  const page = PAGES.get(name);
  if (page === undefined) throw new Error(`no page in the folder of ${name}`);
  return page;
}

/** Returns the first heading of the page of a provider. */
export function titleOf(name: string): string {
  return /^# (.*)$/m.exec(pageOf(name))?.[1] ?? "";
}
