import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { DESCRIPTIONS } from "../../src/api/description/descriptions.ts";
import { EXPLAINED_PROBLEMS } from "../../src/api/http/problem-help.ts";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import { ROUTES } from "../../src/api/routes.ts";
import { app } from "../../src/app.ts";
import { aRequest, call, ProblemBody } from "./client.ts";

/** Method, path and access of each route, its statuses that are not problems, and its own problem codes. */
const SURFACE = [
  "POST /v1/tasks | operate | 200 201 | idempotency_key_reused insufficient_credits not_found task_exists",
  "POST /v1/tasks/{id}/upstream | operate | 200 | task_settled unknown_task",
  "GET /v1/tasks | read | 200 | index_disabled",
  "GET /v1/tasks/{id} | read | 200 304 | unknown_task",
  "POST /v1/tasks/{id}/redeliver | redeliver | 202 | no_callback series_running task_open unknown_task",
  "POST /v1/tasks/{id}/cancel | operate | 200 | task_settled unknown_task",
  "DELETE /v1/tasks/{id} | administer | 204 | series_running task_open unknown_task",
  "POST /v1/events | report | 200 202 | conflicting_result not_found unknown_task",
  "POST /hooks/{provider}/{id}/{token} | anyone | 200 | invalid_json not_configured payload_too_large rate_limited unauthenticated unavailable unknown_task",
  "POST /v1/callbacks/test | redeliver | 200 | ",
  "POST /v1/accounts | administer | 200 201 | reference_reused",
  "GET /v1/accounts | inspect | 200 | index_disabled",
  "GET /v1/accounts/{account} | read | 200 | not_found",
  "DELETE /v1/accounts/{account} | administer | 202 | index_disabled not_found task_open",
  "POST /v1/accounts/{account}/adjustments | administer | 200 201 | not_found reference_reused",
  "POST /v1/accounts/{account}/grants | administer | 200 201 | not_found reference_reused",
  "GET /v1/accounts/{account}/grants | ledger | 200 | not_found",
  "GET /v1/accounts/{account}/entries | ledger | 200 | not_found",
  "POST /v1/accounts/{account}/keys | administer | 201 | not_found reference_reused",
  "GET /v1/accounts/{account}/keys | keys | 200 | not_found",
  "DELETE /v1/accounts/{account}/keys/{key} | administer | 204 | not_found",
  "GET /v1/accounts/{account}/signing-secrets | secrets | 200 | not_found",
  "POST /v1/accounts/{account}/signing-secrets | administer | 200 | not_found",
  "GET /v1/signing-secrets | administer | 200 | ",
  "GET /.well-known/jwks.json | anyone | 200 | not_configured",
  "GET /v1/stats | statistics | 200 | index_disabled",
  "GET /v1/stats/series | statistics | 200 | index_disabled",
  "GET /v1/hosts | inspect | 200 | index_disabled",
  "GET /v1/hosts/{host} | inspect | 200 | index_disabled",
  "GET /v1/problems | inspect | 200 | ",
  "GET /metrics | statistics | 200 | index_disabled",
  "POST /v1/redeliveries | redeliver | 200 | index_disabled",
  "POST /v1/reindex | operate | 200 | index_disabled",
  "POST /v1/wake | operate | 200 | index_disabled",
  "GET /healthz | anyone | 200 503 | unavailable",
  "GET /docs/errors | anyone | 200 | ",
  "GET /openapi.json | anyone | 200 | ",
];

it("the routes of the API, with their access, statuses and problem codes, are exactly those of the list in this test", () => {
  const routes = ROUTES.map(({ id, method, path, access }) => {
    const { answers, problems } = DESCRIPTIONS[id];
    const statuses = Object.keys(answers).join(" ");
    return [`${method} ${path}`, access, statuses, problems.toSorted().join(" ")].join(" | ");
  });
  expect(routes.toSorted()).toEqual(SURFACE.toSorted());
});

it("the problem codes and their statuses are exactly those of the list in this test", () => {
  const statuses = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(statuses)).toEqual({
    invalid_json: 400,
    invalid_request: 400,
    unauthenticated: 401,
    forbidden: 403,
    insufficient_credits: 402,
    not_found: 404,
    unknown_task: 404,
    method_not_allowed: 405,
    task_exists: 409,
    task_open: 409,
    task_settled: 409,
    reference_reused: 409,
    conflicting_result: 409,
    series_running: 409,
    no_callback: 409,
    payload_too_large: 413,
    idempotency_key_reused: 422,
    rate_limited: 429,
    internal_error: 500,
    index_disabled: 501,
    not_configured: 503,
    unavailable: 503,
  });
});

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

it("GET /docs/errors explains every problem code in a section to which the type URL of an error answer leads", async () => {
  const { type } = ProblemBody.parse(await (await call("/nowhere")).json());
  const response = await call(type, { key: null });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
  const page = await parse(response);
  expect(page.ids).toEqual(CODES);
  expect(new Set(page.links)).toEqual(new Set(CODES.map((code) => `#${code}`)));
  const text = unescaped(page.text).replaceAll(/\s+/g, " ");
  for (const { status, title, cause, cure } of EXPLAINED_PROBLEMS) {
    expect(text).toContain(`${status} ${title} Cause ${cause} Cure ${cure}`);
  }
});

it("GET /docs/errors has a Content-Security-Policy that allows only its inline style, by hash", async () => {
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

it("GET /docs/errors answers also on a relay without a valid configuration, whose 503 answers link to it", async () => {
  const bindings = { ...env, RELAY_SECRET: "" };
  const refused = await app.fetch(aRequest("/v1/tasks"), bindings);
  const { code, type } = ProblemBody.parse(await refused.json());
  expect(code).toBe("not_configured");
  const page = await app.fetch(aRequest(type, { key: null }), bindings);
  expect(page.status).toBe(200);
  expect((await parse(page)).ids).toContain(new URL(type).hash.slice(1));
});
