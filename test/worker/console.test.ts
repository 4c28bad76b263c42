import { env } from "../../src/startup.ts";
import { expect, it } from "vitest";
import { answerRequest } from "../../src/app.ts";
import { HTML } from "./browser.ts";
import { call, callWith, ORIGIN } from "./client.ts";

/** Sends a request as a browser does, without a key. */
function visit(path: string, headers: Readonly<Record<string, string>> = HTML) {
  return call(path, { key: null, headers });
}

it.each([
  ["a page", "/nowhere", "a browser", HTML],
  ["a page", "/tasks/1/2/3/4", "a client that does not ask for HTML", {}],
  ["a problem in JSON", "/nowhere", "a client that does not ask for HTML", {}],
  ["a problem in JSON", "/v1/nowhere", "a browser", HTML],
  ["a problem in JSON", "/hooks/ark", "a browser", HTML],
  ["a problem in JSON", "/.well-known/other", "a browser", HTML],
] as const)("a 404 is %s for the unknown path %s requested by %s", async (as, path, _, headers) => {
  const response = await visit(path, headers);
  const type = as === "a page" ? "text/html; charset=utf-8" : "application/problem+json";
  expect([response.status, response.headers.get("Content-Type")]).toEqual([404, type]);
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  expect(response.headers.has("X-Request-Id")).toBe(true);
});

it("every console page has no inline scripts or styles, and forbids those that are inline or from another origin", async () => {
  const response = await visit("/nowhere");
  expect(response.headers.get("Content-Security-Policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(response.headers.get("Referrer-Policy")).toBe("same-origin");
  expect(response.headers.get("Cross-Origin-Opener-Policy")).toBe("same-origin");
  const page = await response.text();
  expect(page).not.toMatch(/<style| style=| on\w+=|<script(?![^>]* src="\/)[^>]*>/);
});

it("console pages are compressed for browsers that accept gzip, and redirects are not", async () => {
  const accepting = { ...HTML, "Accept-Encoding": "br, gzip" };
  const encodings = ["/nowhere", "/login", "/"].map(async (path) => {
    const { headers } = await callWith(env, path, { key: null, headers: accepting });
    return headers.get("Content-Encoding");
  });
  expect(await Promise.all(encodings)).toEqual(["gzip", "gzip", null]);
  expect((await visit("/login")).headers.has("Content-Encoding")).toBe(false);
});

it("a console page is not compressed for a client that does not accept gzip, although the platform adds gzip to Accept-Encoding", async () => {
  const headers = { ...HTML, "Accept-Encoding": "br, gzip" };
  const cf = { clientAcceptEncoding: "" };
  const response = await answerRequest(new Request(`${ORIGIN}/login`, { headers, cf }), env);
  expect(response.status).toBe(200);
  expect(response.headers.has("Content-Encoding")).toBe(false);
});
