import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import openApi from "../../openapi.json" with { type: "json" };
import { publicFiles } from "../../scripts/generate/public-files.ts";
import { EXAMPLE_ORIGIN } from "../../scripts/reference/origin.ts";
import { EXPLAINED_PROBLEMS } from "../../src/api/http/problem-help.ts";
import { isProblemCode } from "../../src/api/http/problem-list.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { PAGES } from "../../src/console/console-pages.ts";

const files = await publicFiles.make();
const textOf = (path: string) => String(files[`public/${path}`] ?? "");
const valuesOf = (name: string, html: string) =>
  Array.from(html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g")), ([, value = ""]) => value);

/** Returns the text of each section of a page, by its id. */
function sectionsOf(html: string): ReadonlyMap<string, string> {
  const found = html.matchAll(/<section [^>]*id="([^"]+)"[^>]*>([^]*?)<\/section>/g);
  return new Map(Array.from(found, ([, id = "", content = ""]) => [id, unescaped(content)]));
}

const unescaped = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

it("the page /docs/errors explains every problem code in a section of its name", () => {
  const expected = EXPLAINED_PROBLEMS.map(({ code, status, title, cause, cure }) => [
    code,
    `${code}${status} · ${title}Cause${cause}Cure${cure}`,
  ]);
  expect([...sectionsOf(textOf("docs/errors.html"))]).toEqual(expected);
});

it("the page /docs has a section for every operation and webhook of openapi.json, and all its links lead somewhere", () => {
  const page = textOf("docs.html");
  const [sections, ids, links] = [sectionsOf(page), valuesOf("id", page), valuesOf("href", page)];
  const operations = Object.values(openApi.paths).flatMap((each) => Object.values(each));
  const names = operations.map(({ operationId }) => operationId);
  const missing = [...names, ...Object.keys(openApi.webhooks)].filter((id) => !sections.has(id));
  expect(missing).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  const targets = links.filter((link) => link.startsWith("#")).map((link) => link.slice(1));
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  const codes = links.flatMap((link) => /^\/docs\/errors#(.*)/.exec(link)?.[1] ?? []);
  expect(codes.filter((code) => !isProblemCode(code))).toEqual([]);
  expect(sections.get("registerTask")).toContain(`curl -fsS ${EXAMPLE_ORIGIN}/v1/tasks`);
});

/** Says whether a file is one of the sources of the product, or lies in one. */
const isSource = (path: string) =>
  publicFiles.sources.some((source) => path === source || path.startsWith(`${source}/`));

it("npm run generate makes the pages again when any file from which they are made has changed", async () => {
  const { metafile } = await build({
    entryPoints: [join(import.meta.dirname, "../../scripts/reference/rendered.tsx")],
    absWorkingDir: join(import.meta.dirname, "../.."),
    bundle: true,
    jsx: "automatic",
    jsxImportSource: "hono/jsx",
    metafile: true,
    write: false,
  });
  const made = Object.keys(metafile.inputs).filter((path) => !path.startsWith("node_modules/"));
  expect(made.length).toBeGreaterThan(20);
  expect(made.filter((path) => !isSource(path))).toEqual([]);
});

it("the file /openapi.json has the content of openapi.json without blanks and line breaks", () => {
  expect(textOf("openapi.json")).toBe(JSON.stringify(openApi));
});

it.each(["docs.html", "docs/errors.html"])(
  "%s has no inline script or style, which its Content-Security-Policy forbids, and loads only files of public",
  (name) => {
    const page = textOf(name);
    expect(page).not.toMatch(/<style| style=| on\w+=|<script(?![^>]* src="\/)[^>]*>/);
    const loaded = [...valuesOf("src", page), ...valuesOf("href", page)];
    const assets = loaded.filter((path) => path.startsWith("/assets/"));
    expect(assets.length).toBeGreaterThan(5);
    expect(assets.filter((path) => files[`public${path}`] === undefined)).toEqual([]);
  },
);

/** Paths with which files are asked for; the platform redirects the further ones of a page to its path. */
const PATHS = Object.keys(files).flatMap((file) => {
  const path = file.replace(/^public/, "");
  const page = path.replace(/\.html$/, "");
  return path === page ? [path] : [path, page, `${page}/`];
});

it("no file of public has a path that is also the path of a route or of a page of the console", () => {
  const patterns = [...ROUTES, ...PAGES].map(({ path }) => {
    const pattern = path.replaceAll(".", "\\.").replaceAll(/\{\+\w+\}/g, ".+");
    return new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
  });
  expect(PATHS).toContain("/docs/errors");
  expect(PATHS.filter((path) => patterns.some((pattern) => pattern.test(path)))).toEqual([]);
});

it("the file public/_headers gives the pages, openapi.json, the assets and the operator's logo headers that make caches ask for a newer copy before they use theirs", () => {
  const rules = textOf("_headers").split("\n\n");
  const starts = rules.map((rule) => rule.split("\n")[0]?.replace(/\*$/, "") ?? "");
  expect(starts).toEqual(["/docs", "/docs/errors", "/openapi.json", "/assets/", "/brand/"]);
  for (const rule of rules) {
    expect(rule).toContain("\n  Cache-Control: no-cache");
    expect(rule).toContain("\n  X-Content-Type-Options: nosniff");
  }
});
