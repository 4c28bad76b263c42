import { env } from "../../src/startup.ts";
import { expect, it } from "vitest";
import { PROBLEMS, type ProblemCode } from "../../src/api/http/problem-list.ts";
import { Problem, type ProblemDetails } from "../../src/api/http/problem.ts";
import { problemPage } from "../../src/console/problem/problem-page.tsx";
import { logIn, visit } from "./browser.ts";
import { aRequest } from "./client.ts";

const CODES = Object.keys(PROBLEMS).filter((code): code is ProblemCode => code in PROBLEMS);

/** Returns the page of a problem with a request for `path`; `more` are details besides the text. */
function pageOf(code: ProblemCode, more: Partial<ProblemDetails> = {}, path = "/tasks?a=b") {
  const problem = new Problem(code, { detail: "What is wrong.", ...more });
  const request = aRequest(path, { key: null });
  return problemPage(problem, { request, env, requestId: "request-1" });
}

it.each(CODES)(
  "the console's error page for the problem code %s has the code's status and title, the text of the error and the id of the request",
  async (code) => {
    const response = await pageOf(code);
    expect(response.status).toBe(PROBLEMS[code].status);
    const page = await response.text();
    for (const text of [
      PROBLEMS[code].title,
      "What is wrong.",
      "request-1",
      `/docs/errors#${code}`,
    ]) {
      expect(page).toContain(text);
    }
  },
);

const ISSUES = { issues: [{ path: "/since<", message: "must be <a time" }] };

it.each<readonly [ProblemCode, string, Partial<ProblemDetails>, readonly string[]]>([
  [
    "unknown_task",
    "without further details",
    {},
    ["has been erased: a finished task is kept for 28 days"],
  ],
  [
    "invalid_request",
    "about a filter of a list",
    ISSUES,
    ["since&lt;", "must be &lt;a time", 'href="/tasks">', "Without the filters"],
  ],
  ["index_disabled", "without further details", {}, ["[[d1_databases]]", "INDEX_DB"]],
  ["unavailable", "without further details", {}, ['href="/tasks?a=b"', "Try again"]],
  [
    "forbidden",
    "with hostile text as its detail",
    { detail: "<script>\u202e" },
    ["&lt;script&gt;", "U+202E"],
  ],
])(
  "the console's error page for the problem %s %s has the advice and links that belong to this code, and runs no script in the detail",
  async (code, _, more, texts) => {
    const page = await (await pageOf(code, more)).text();
    for (const text of texts) expect(page).toContain(text);
    expect(page).not.toContain("<script>");
  },
);

it.each<readonly [ProblemCode, string, string, Readonly<Record<string, string>>, string | null]>([
  ["unavailable", "with Retry-After 3", "reloads itself after 3 s", { "Retry-After": "3" }, "3"],
  ["not_configured", "without Retry-After", "reloads itself after 10 s", {}, "10"],
  ["internal_error", "without Retry-After", "does not reload itself", {}, null],
  ["rate_limited", "with Retry-After 60", "does not reload itself", { "Retry-After": "60" }, null],
])(
  "for the problem %s, %s, the console's error page %s: it reloads itself only while the relay is unavailable or not configured",
  async (code, _with, _does, headers, after) => {
    const response = await pageOf(code, { headers });
    expect(response.headers.get("Refresh")).toBe(after);
    expect(response.headers.get("Retry-After")).toBe(headers["Retry-After"] ?? null);
  },
);

it("an error page of the console has the menu with Log out for a logged-in user, and for nobody else", async () => {
  const frame = "Log out";
  expect(await (await visit("/nowhere", await logIn())).text()).toContain(frame);
  expect(await (await visit("/nowhere")).text()).not.toContain(frame);
});

it("a browser that opens a relay that is not configured gets a page that names the wrong variable", async () => {
  const response = await visit("/", null, {}, { ...env, RELAY_SECRET: "" });
  expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "60"]);
  expect(await response.text()).toContain("RELAY_SECRET");
});
