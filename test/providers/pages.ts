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

const CORPUS_READMES = import.meta.glob<string>(["../../src/providers/*/corpus/README.md"], {
  eager: true,
  import: "default",
  query: "?raw",
});

/** Returns the page of the corpus of a provider, empty where there is none. */
export function corpusPageOf(name: string): string {
  return CORPUS_READMES[`../../src/providers/${name}/corpus/README.md`] ?? "";
}

/** Returns the first heading of the page of a provider. */
export function titleOf(name: string): string {
  return /^# (.*)$/m.exec(pageOf(name))?.[1] ?? "";
}
