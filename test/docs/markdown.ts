import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** Every Markdown file of the repository, relative to its root. */
export const PAGES: readonly string[] = globSync(["*.md", "docs/**/*.md", "test/**/*.md"], {
  cwd: ROOT,
});

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** Rows of the first table that follows `heading`, as cells; the header row is left out. */
export function tableUnder(page: string, heading: string): readonly (readonly string[])[] {
  const [, section = ""] = readPage(page).split(`\n${heading}\n`);
  const lines = section.split("\n");
  const start = lines.findIndex((line) => line.startsWith("|"));
  const length = lines.slice(start).findIndex((line) => !line.startsWith("|"));
  return lines.slice(start + 2, start + length).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

/** Anchors of a page as GitHub derives them from its headings. */
export function anchorsOf(page: string): readonly string[] {
  const headings = readPage(page).match(/^#+ .*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
