import { isForBrowser } from "../../src/console/http/browser-request.ts";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import { requireConforming } from "../description/conforms.ts";
import { isPublicHost } from "./addresses.ts";
import { requireIssues } from "./refusal.ts";
import type { SentRequest } from "./requests.ts";
import { memberOf } from "./wire.ts";
import type { World } from "./world.ts";

export const ORIGIN = "https://relay.example.com";
/** Codes of problems that may disappear at a later attempt. */
const TEMPORARY: readonly string[] = ["unavailable", "index_disabled"];
const WITH_TASK = new Set(
  "task_exists task_open task_settled conflicting_result series_running no_callback idempotency_key_reused not_cancelable submission_running".split(
    " ",
  ),
);

/** Returns the request without the parts that authenticate its sender. */
function askedBy({ method, path, headers }: SentRequest): Request {
  return new Request(ORIGIN + path, { method, headers });
}

/** Requires that an answer is one that the description of the API has. @throws when it is not. */
export async function requireSound(request: SentRequest, response: Response): Promise<void> {
  const { method } = request;
  const { status, headers } = response;
  const text = await response.text();
  const asked = askedBy(request);
  requireConforming(asked, { status, headers, text: method === "HEAD" ? null : text });
  if (status < 400 || isForBrowser(asked)) return;
  const isProblem = headers.get("Content-Type") === "application/problem+json";
  // Errors of MCP have the form of its protocol, which has been held against their description.
  if (!isProblem && new URL(asked.url).pathname === "/mcp" && status < 500) return;
  if (!isProblem) throw new Error(`${status}: ${text}`);
  if (method !== "HEAD") requireProblem(JSON.parse(text), response);
}

function requireProblem(problem: unknown, { status, headers }: Response): void {
  const code = String(memberOf(problem, "code"));
  const isKnown = memberOf(memberOf(PROBLEMS, code), "status") === status;
  const isTemporary = status < 500 || TEMPORARY.includes(code);
  if (!isKnown || memberOf(problem, "status") !== status || !isTemporary) {
    throw new Error(`${status}: ${JSON.stringify(problem)}`);
  }
  if (status === 400) requireIssues(memberOf(problem, "issues"));
  const needed = { 401: "WWW-Authenticate", 405: "Allow", 503: "Retry-After" }[status];
  if (needed !== undefined && !headers.has(needed)) throw new Error(`${code} without ${needed}`);
  const hasTask = memberOf(problem, "task") !== undefined;
  if (WITH_TASK.has(code) !== hasTask)
    throw new Error(`${code} ${hasTask ? "has" : "lacks"} the task`);
}

/** Requires that no object has changed what it stores. @throws when one has. */
export function requireUnchanged(world: World): void {
  const { changed } = world;
  if (changed.length > 0) throw new Error(`a refused request changed ${changed.join(", ")}`);
}

/** Paths for which a browser may ask which requests to them pages of other sites may send: of status links, and of MCP. */
const CROSS_ORIGIN_PATH = /^\/(?:mcp|v1\/tasks\/[^/]+(?:\/events)?)$/;

/**
 * Requires that a request without a right key is refused, unless it is answered with a page of the console or is
 * a browser's `OPTIONS` for a path that pages of other sites may call, and reaches no object but those that know keys.
 */
export function requireGuarded(request: SentRequest, { status }: Response, world: World): void {
  const { sender, isOpen, method } = request;
  const isStranger = sender === "wrong" || sender === "nobody";
  if (isOpen || !isStranger) return;
  // A URL is read without the blanks at its end.
  const { pathname } = new URL(askedBy(request).url);
  const isPreflight = method === "OPTIONS" && status === 204 && CROSS_ORIGIN_PATH.test(pathname);
  if (status < 400 && !isPreflight && !isForBrowser(askedBy(request))) {
    throw new Error(`a stranger was answered ${status}`);
  }
  const reached = world.reached.filter((name) => !name.startsWith("account keys:"));
  if (reached.length > 0) throw new Error(`a stranger reached ${reached.join(", ")}`);
}

/** Requires that all requests of the relay went to public hosts. @throws when one did not. */
export function requirePublic(urls: readonly string[]): void {
  for (const text of urls) {
    const url = new URL(text);
    if (url.protocol === "https:" && isPublicHost(url.hostname)) continue;
    throw new Error(`a request went to ${text} `);
  }
}
