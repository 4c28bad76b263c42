import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { anchorsOf, PAGES, readPage, ROOT, tableUnder } from "./markdown.ts";

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
    const named = [...text.matchAll(/`((?:src|test|docs|scripts|bench)\/[\w./*-]*)[`:]/g)];
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

it("docs/api.md lists every route with its access, and no other", () => {
  const rows = tableUnder("docs/api.md", "## Routes").map(([route, access]) => ({ route, access }));
  const routes = ROUTES.map(({ method, path, access }) => ({
    route: `\`${method} ${path}\``,
    access,
  }));
  const byRoute = (a: { route?: string }, b: { route?: string }) =>
    (a.route ?? "") < (b.route ?? "") ? -1 : 1;
  expect(rows.toSorted(byRoute)).toEqual(routes.toSorted(byRoute));
});
