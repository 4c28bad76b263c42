import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { shellBlocks } from "../process/readme/shell-blocks.ts";
import { anchorsIn, localLinks } from "./markdown-links.ts";

const ROOT = join(import.meta.dirname, "../..");
// Excludes the packages that commands install into `bench/node_modules`.
const exclude = ["**/node_modules/**"];
const PAGES = globSync(["*.md", "{bench,client,conformance,docs,src,test}/**/*.md"], {
  cwd: ROOT,
  exclude,
});

it("every page of the repository can be reached by links from docs/README.md, and docs/README.md from README.md", () => {
  const reached = new Set(["docs/README.md"]);
  for (const page of reached) for (const link of linksIn(page)) reached.add(link.target);
  expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
  expect(linksIn("README.md").map(({ target }) => target)).toContain("docs/README.md");
});

it("docs/README.md links to every page of docs", () => {
  const linked = linksIn("docs/README.md").map(({ target }) => target);
  const pages = PAGES.filter((page) => dirname(page) === "docs" && page !== "docs/README.md");
  expect(pages.filter((page) => !linked.includes(page))).toEqual([]);
});

it("README.md has at most 120 lines", () => {
  expect(readPage("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(120);
});

it("README.md shows one call, the demo and npm ci && npm test in its first 45 lines, and the npm commands of .ci/run begin with npm ci and npm test", () => {
  const firstScreen = shellBlocks("README.md").filter(({ line }) => line <= 45);
  expect(firstScreen.map(({ code }) => code)).toEqual([
    expect.stringContaining("/v1/submit/"),
    "npm ci && npm run demo\n",
    "npm ci && npm test\n",
  ]);
  const [, , tests] = firstScreen;
  // With `set -e` a shell goes on after a failure before `&&`, so the script has each command on a line.
  const commands = readPage(".ci/run").match(/^npm .*$/gm) ?? [];
  expect(commands.slice(0, 2)).toEqual(tests?.code.trim().split(" && "));
});

describe.each(PAGES)("%s", (page) => {
  const text = readPage(page);

  it(`${page} links only to files and headings that exist`, () => {
    const broken = linksIn(page).filter(({ target, anchor }) => {
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it(`${page} has no two headings with the same anchor`, () => {
    const anchors = anchorsOf(page);
    expect(anchors.filter((anchor, at) => anchors.indexOf(anchor) !== at)).toEqual([]);
  });

  it(`each block of shell commands of ${page} is marked sh, or sh account where it needs a Cloudflare account or an upstream, and is valid bash`, () => {
    const marks = text.match(/(?<=^ *```)(?:sh|bash|shell|console|zsh)\b.*$/gm) ?? [];
    expect(marks.filter((mark) => mark !== "sh" && mark !== "sh account")).toEqual([]);
    const blocks = shellBlocks(page);
    expect(blocks).toHaveLength(marks.length);
    const errors = blocks.map(({ code, line }) => {
      const { stderr } = spawnSync("bash", ["-n"], { input: code, encoding: "utf8" });
      return stderr === "" ? "" : `${page}:${line} ${stderr}`;
    });
    expect(errors.filter((error) => error !== "")).toEqual([]);
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

/** Links of a page into the repository: the file, by its path in the repository, and the heading. */
function linksIn(page: string) {
  if (!PAGES.includes(page)) return [];
  return localLinks(readPage(page)).map(({ path, anchor }) => {
    return { target: path === "" ? page : normalize(join(dirname(page), path)), anchor };
  });
}

function anchorsOf(page: string): readonly string[] {
  return anchorsIn(readPage(page));
}
