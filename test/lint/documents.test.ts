import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
// The commands of `bench` install packages of their own there.
const exclude = ["**/node_modules/**"];
const PAGES = globSync(["*.md", "{bench,conformance,docs,test}/**/*.md"], { cwd: ROOT, exclude });

it("README.md links to every page of docs", () => {
  const pages = PAGES.filter((page) => page.startsWith("docs/"));
  const readme = readPage("README.md");
  expect(pages.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
});

describe.each(PAGES)("%s", (page) => {
  const text = readPage(page);

  it(`${page} links only to files and headings that exist`, () => {
    const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)]*)\)/g)].map(([, to = ""]) => to);
    const broken = links.filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it(`${page} names only paths of the repository that exist`, () => {
    const named = [
      ...text.matchAll(/`((?:src|test|docs|scripts|bench|conformance)\/[\w./*-]*)[`:]/g),
    ];
    const paths = named.map(([, path = ""]) => path);
    expect(paths.filter((path) => globSync(path, { cwd: ROOT }).length === 0)).toEqual([]);
  });

  it(`${page} names only npm scripts that exist`, () => {
    const { scripts }: { scripts: object } = JSON.parse(
      readFileSync(join(ROOT, "package.json"), "utf8"),
    );
    const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

function readPage(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** Anchors of a page as GitHub derives them from its headings. */
function anchorsOf(page: string): readonly string[] {
  const headings = readPage(page).match(/^#+ .*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, "")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
