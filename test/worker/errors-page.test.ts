import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import { app } from "../../src/app.ts";
import { aRequest, call, ProblemBody } from "./client.ts";

const CODES = Object.keys(PROBLEMS);

/** Parsed as browsers do: ids of elements, targets of links, inline styles, and everything executable or remote. */
async function parse(page: Response) {
  const ids: string[] = [];
  const links: string[] = [];
  const active: string[] = [];
  let style = "";
  let text = "";
  await new HTMLRewriter()
    .on("[id]", { element: (element) => void ids.push(element.getAttribute("id") ?? "") })
    .on("a", { element: (element) => void links.push(element.getAttribute("href") ?? "") })
    .on("script, iframe, object, form, link, img, [src], [style], [onclick]", {
      element: ({ tagName }) => void active.push(tagName),
    })
    .on("style", { text: (chunk) => void (style += chunk.text) })
    .on("section", { text: (chunk) => void (text += chunk.text) })
    .transform(page)
    .text();
  return { ids, links, active, style, text };
}

const unescaped = (text: string) =>
  text
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");

it("GET /docs/errors explains every problem code at the place that the type of the problem names", async () => {
  const { type } = ProblemBody.parse(await (await call("/nowhere")).json());
  const response = await call(type, { key: null });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
  const page = await parse(response);
  expect(page.ids).toEqual(CODES);
  expect(new Set(page.links)).toEqual(new Set(CODES.map((code) => `#${code}`)));
  const text = unescaped(page.text).replaceAll(/\s+/g, " ");
  for (const { status, title, cause, cure } of Object.values(PROBLEMS)) {
    expect(text).toContain(`${status} ${title} Cause ${cause} Cure ${cure}`);
  }
});

it("GET /docs/errors allows nothing but its one style, by its hash", async () => {
  const response = await call("/docs/errors", { key: null });
  const policy = response.headers.get("Content-Security-Policy");
  const { active, style } = await parse(response);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
  expect(active).toEqual([]);
  expect(policy).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});

it("GET /docs/errors answers on a relay that is not configured, whose 503 links there", async () => {
  const bindings = { ...env, RELAY_SECRET: "" };
  const refused = await app.fetch(aRequest("/v1/tasks"), bindings);
  const { code, type } = ProblemBody.parse(await refused.json());
  expect(code).toBe("not_configured");
  const page = await app.fetch(aRequest(type, { key: null }), bindings);
  expect(page.status).toBe(200);
  expect((await parse(page)).ids).toContain(new URL(type).hash.slice(1));
});
