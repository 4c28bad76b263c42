import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import openApi from "../../openapi.json" with { type: "json" };
import { EXPLAINED_PROBLEMS } from "../../src/api/http/problem-help.ts";
import { isProblemCode } from "../../src/api/http/problem-list.ts";
import { answerTo, aRequest, call, callWith, ProblemBody } from "./client.ts";

/**
 * Parses a page as browsers do: returns the ids and texts of its sections, the targets of its links, and its
 * text.
 */
async function parse(page: Response) {
  const sections = new Map<string, string>();
  const ids: string[] = [];
  const links: string[] = [];
  let section = "";
  await new HTMLRewriter()
    .on("[id]", { element: (element) => void ids.push(element.getAttribute("id") ?? "") })
    .on("a", { element: (element) => void links.push(element.getAttribute("href") ?? "") })
    .on("section[id]", {
      element: (element) => {
        section = element.getAttribute("id") ?? "";
        sections.set(section, "");
      },
      text: ({ text }) => void sections.set(section, (sections.get(section) ?? "") + text),
    })
    .transform(page)
    .text();
  return { sections, ids, links };
}

const unescaped = (text: string) =>
  text
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

it("GET /docs/errors explains every problem code in a section to which the type URL of an error answer leads", async () => {
  const { type } = ProblemBody.parse(await (await call("/nowhere")).json());
  const response = await call(type, { key: null });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
  const { sections } = await parse(response);
  const expected = EXPLAINED_PROBLEMS.map(({ code, status, title, cause, cure }) => [
    code,
    `${code}${status} · ${title}Cause${cause}Cure${cure}`,
  ]);
  expect(Array.from(sections, ([code, text]) => [code, unescaped(text)])).toEqual(expected);
});

it("GET /docs/errors answers even on a relay without a valid configuration, because its 503 answers link to this page", async () => {
  const bindings = { ...env, RELAY_SECRET: "" };
  const refused = await answerTo(aRequest("/v1/tasks"), bindings);
  const { code, type } = ProblemBody.parse(await refused.json());
  expect(code).toBe("not_configured");
  const page = await answerTo(aRequest(type, { key: null }), bindings);
  expect(page.status).toBe(200);
  expect((await parse(page)).ids).toContain(new URL(type).hash.slice(1));
});

it("GET /docs has a section for every operation and webhook of openapi.json, and all its links lead somewhere", async () => {
  const { sections, ids, links } = await parse(await call("/docs", { key: null }));
  const operations = Object.values(openApi.paths).flatMap((each) => Object.values(each));
  const names = operations.map(({ operationId }) => operationId);
  const missing = [...names, ...Object.keys(openApi.webhooks)].filter((id) => !sections.has(id));
  expect(missing).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  const targets = links.filter((link) => link.startsWith("#")).map((link) => link.slice(1));
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  const codes = links.flatMap((link) => /^\/docs\/errors#(.*)/.exec(link)?.[1] ?? []);
  expect(codes.filter((code) => !isProblemCode(code))).toEqual([]);
  expect(sections.get("registerTask")).toContain(
    `curl -fsS ${new URL(aRequest("/").url).origin}/v1/tasks`,
  );
});

/** Returns the first tag of the reference at this origin, for a reader of this theme. */
async function rootAt(origin: string, theme: string): Promise<string | undefined> {
  const headers = { Accept: "text/html", Cookie: `theme=${theme}` };
  const bindings = { ...env, PUBLIC_URL: "" };
  const page = await (await callWith(bindings, `${origin}/docs`, { key: null, headers })).text();
  expect(page).not.toContain("origin.invalid");
  expect(page).toContain(`curl -fsS ${origin}/v1/tasks`);
  return /<html[^>]*>/.exec(page)?.[0];
}

it("GET /docs has the relay's address and the colour theme that each request states, although the page is rendered when the relay is built", async () => {
  expect(await rootAt("https://a.example.com", "dark")).toContain('data-theme="dark"');
  expect(await rootAt("https://b.example.com", "none")).not.toContain("data-theme");
});
