/** A link that is not to another site: the path, empty for the page itself, and the heading. */
interface LocalLink {
  readonly path: string;
  readonly anchor: string | undefined;
}

/** Returns the links of a page in Markdown that do not lead to another site. */
export function localLinks(page: string): readonly LocalLink[] {
  const links = page.matchAll(/\]\((?!https?:|mailto:)([^)]*)\)/g);
  return Array.from(links, ([, to = ""]) => {
    const [path = "", anchor] = to.split("#");
    return { path, anchor };
  });
}

/** Returns the anchors that GitHub derives from the headings of a page. */
export function anchorsIn(page: string): readonly string[] {
  const prose = page.replaceAll(/^ *```[^]*?^ *```$/gm, "");
  const headings = prose.match(/^#+ .*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
