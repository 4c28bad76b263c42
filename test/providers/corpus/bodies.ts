import { CorpusFile, type CorpusBody } from "../../../scripts/corpus/body-file.ts";

const FILES = import.meta.glob<string>(
  [
    "../../../src/providers/*/corpus/*.json",
    "../../../src/providers/generic/upstreams/*/corpus/*.json",
  ],
  { eager: true, import: "default", query: "?raw" },
);

/** A file of a corpus as it is stored. */
export interface StoredFile {
  /** Name of the provider and of the file, e.g. `ark/queued`. */
  readonly name: string;
  readonly text: string;
}

export const STORED_FILES: readonly StoredFile[] = Object.entries(FILES).map(([path, text]) => {
  const [folder, , file = ""] = path.split("/").slice(-3);
  return { name: `${folder}/${file.replace(/\.json$/, "")}`, text };
});

/** A body of a corpus, with the name of its provider or declared upstream. */
export interface NamedBody {
  readonly name: string;
  readonly provider: string;
  readonly body: CorpusBody;
}

/** Returns all bodies of all corpora. @throws Error for a file that has another form. */
export function readBodies(): readonly NamedBody[] {
  return STORED_FILES.map(({ name, text }) => {
    const read = CorpusFile.safeParse(JSON.parse(text));
    if (!read.success) throw new Error(`${name}: ${read.error.message}`);
    return { name, provider: name.split("/")[0] ?? "", body: read.data };
  });
}
