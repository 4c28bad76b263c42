/**
 * Returns the page with the text between `<!-- generated: name -->` and `<!-- end of name -->` replaced by
 * that of the region with this name. All other text of the page is written by hand and stays.
 * @throws when the page lacks a region, or has one that is not given.
 */
export function fillRegions(page: string, regions: Readonly<Record<string, string>>): string {
  const left = new Map(Object.entries(regions));
  const filled = page.replaceAll(
    /(<!-- generated: ([\w-]+) -->\n)[^]*?(<!-- end of \2 -->)/g,
    (_, begin: string, name: string, end: string) => {
      const text = left.get(name);
      if (text === undefined) throw new Error(`the region ${name} is unknown or occurs twice`);
      left.delete(name);
      return `${begin}\n${text.trim()}\n\n${end}`;
    },
  );
  if (left.size > 0) throw new Error(`the page lacks the region ${[...left.keys()].join(", ")}`);
  return filled;
}

/** Writes a table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => `| ${cells.map(escaped).join(" | ")} |`);
  return lines.toSpliced(1, 0, `|${"---|".repeat(head.length)}`).join("\n");
}

function escaped(cell: string): string {
  return cell.replaceAll("|", String.raw`\|`);
}
