const SECTION = "## Once, before the first release";

/** A step before the first release that only the owner of the repository can do. */
export interface OwnerStep {
  readonly title: string;
  /** What to do and what to expect, without the marks of Markdown, but for code in backticks. */
  readonly text: string;
}

/** Returns the steps that docs/releasing.md lists before the first release, in their order. */
export function ownerSteps(page: string): readonly OwnerStep[] {
  const [, after = ""] = page.split(`${SECTION}\n`);
  const [section = ""] = after.split("\n## ");
  return [...section.matchAll(/^\d+\. \*\*(.+?)\*\*(.*)$/gm)].map(([, title = "", text = ""]) => ({
    title: title.replace(/\.$/, ""),
    text: plain(text),
  }));
}

/** Returns Markdown with the address of each link after its text, unless both are the same. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]+)\]\(\1\)/g, "$1")
    .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, "$1 ($2)")
    .trim();
}
