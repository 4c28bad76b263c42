import * as z from "zod/mini";
import type { Answer, RouteDescription } from "../../src/api/http/route.openapi.ts";
import { DESCRIPTIONS } from "../../src/api/routes.openapi.ts";
import { ANSWER_HEADERS } from "../../src/api/http/headers.openapi.ts";
import { problemsOf, ProblemSchema } from "../../src/api/http/problem.openapi.ts";
import { PROBLEMS } from "../../src/api/http/problem-list.ts";
import type { Route } from "../../src/api/http/route.ts";
import { type RouteId, ROUTES } from "../../src/api/routes.ts";

type KnownRoute = (typeof ROUTES)[number];

const PATTERNS = ROUTES.map((route) => {
  const pattern = route.path
    .replaceAll(".", "\\.")
    .replaceAll(/\{\w+\}/g, "[^/]+")
    .replaceAll(/\{\+\w+\}/g, ".+");
  return { route, path: new RegExp(`^${pattern}$`) };
});
const HEADERS = Object.keys(ANSWER_HEADERS);
const WITH_RETRY: readonly number[] = [429, 503];
/** Problems with which the relay answers before it has found a route. */
const WITHOUT_ROUTE: readonly string[] = ["not_found", "method_not_allowed", "invalid_request"];

interface Asked {
  readonly method: string;
  readonly url: string;
}

interface AnswerHead {
  readonly status: number;
  readonly headers: Headers;
}

/** An answer whose body has been read; `text` is null for the answer to HEAD. */
interface ReadAnswer extends AnswerHead {
  readonly text: string | null;
}

/** Returns the route that a request asks for; null when there is none. */
function routeOf({ method, url }: Asked): KnownRoute | null {
  const { pathname } = new URL(url);
  const wanted = method === "HEAD" ? "GET" : method;
  const found = PATTERNS.find(({ route, path }) => route.method === wanted && path.test(pathname));
  return found?.route ?? null;
}

/** Requires that an answer is as the description of its route states, and returns it. */
export async function conforming(asked: Asked, response: Response): Promise<Response> {
  const { status, headers } = response;
  requireConforming(asked, { status, headers, text: await textOf(asked, response) });
  return response;
}

/** Returns the body of an answer; null for the answer to HEAD. */
async function textOf({ method }: Asked, response: Response): Promise<string | null> {
  if (method === "HEAD") return null;
  // workerd does not clone the answer that opens a WebSocket.
  if (response.status === 101) return "";
  return new TextDecoder().decode(await response.clone().arrayBuffer());
}

/**
 * Requires that an answer is as the description of its route states. @throws Error that names the operation,
 * the status and the difference.
 */
export function requireConforming(asked: Asked, { text, ...head }: ReadAnswer): void {
  const route = routeOf(asked);
  const isProblem = head.headers.get("Content-Type") === "application/problem+json";
  if (!head.headers.has("X-Request-Id")) throw new Error("the answer has no X-Request-Id");
  if (isPassedOn(route, head)) return;
  if (isProblem) requireProblem(route, head, text);
  else if (route !== null && !isStatusPage(route, head)) conforms(route.id, head, text);
}

/** Tells whether an answer is that of an upstream, or an error in its form, which the relay does not describe. */
function isPassedOn(route: KnownRoute | null, { headers }: AnswerHead): boolean {
  if (route === null) return false;
  const description: RouteDescription = DESCRIPTIONS[route.id];
  if (description.passedAnswer === undefined) return false;
  if (headers.get("Preference-Applied") === "respond-async") return false;
  const isProblem = headers.get("Content-Type") === "application/problem+json";
  return headers.has("Relay-Task-Id") || !isProblem;
}

/** Tells whether an answer is the page of a status link, which is for people. */
function isStatusPage({ takesStatusToken }: Route, { headers }: AnswerHead): boolean {
  return takesStatusToken === true && headers.get("Content-Type") === "text/html; charset=utf-8";
}

/** Requires that an answer other than a problem is as the description of the operation states. */
function conforms(id: RouteId, { status, headers }: AnswerHead, text: string | null): void {
  const name = `${id} ${status}`;
  const answer = new Map(Object.entries(DESCRIPTIONS[id].answers)).get(`${status}`);
  if (answer === undefined) throw new Error(`${name} is not described`);
  requireHeaders(name, answer, headers);
  if (text === null) return;
  const type = headers.get("Content-Type") ?? "";
  const isForToken = headers.has("Access-Control-Allow-Origin");
  const content = (isForToken ? answer.forStatusToken : undefined) ?? answer.content[type];
  if (content !== undefined) {
    requireValid(name, content.schema, /\bjson$/.test(type) ? JSON.parse(text) : text);
    return;
  }
  // A file of any type, whose content is not examined.
  const file = answer.content["*/*"];
  if (file !== undefined) requireValid(name, file.schema, text);
  else if (type !== "" || text !== "" || Object.keys(answer.content).length > 0) {
    throw new Error(`${name}: the media type ${JSON.stringify(type)} is not described`);
  }
}

function requireProblem(
  route: KnownRoute | null,
  { status, headers }: AnswerHead,
  text: string | null,
): void {
  const name = `${route?.id ?? "no route"} ${status}`;
  const possible = route === null ? WITHOUT_ROUTE : problemsOf(route, DESCRIPTIONS[route.id]);
  const fitting = Object.entries(PROBLEMS).flatMap(([code, problem]) =>
    problem.status === status && possible.includes(code) ? [code] : [],
  );
  if (fitting.length === 0) throw new Error(`${name}: no problem with this status is described`);
  if (text === null) return;
  const problem = requireValid(name, ProblemSchema, JSON.parse(text));
  const hasRetry = WITH_RETRY.includes(status) || problem.code === "submission_running";
  if (hasRetry !== headers.has("Retry-After")) {
    throw new Error(`${name}: Retry-After belongs to 429, 503 and submission_running`);
  }
  if (!fitting.includes(problem.code)) throw new Error(`${name}: ${problem.code} is not described`);
}

function requireHeaders(name: string, { headers: described }: Answer, headers: Headers): void {
  const presence = new Map(Object.entries(described));
  for (const header of HEADERS) {
    const isThere = headers.has(header);
    if (isThere && !presence.has(header)) throw new Error(`${name}: ${header} is not described`);
    if (!isThere && presence.get(header) === "always") throw new Error(`${name}: no ${header}`);
  }
}

function requireValid<S extends z.ZodMiniType>(
  name: string,
  schema: S,
  body: unknown,
): z.output<S> {
  const { data, error } = schema.safeParse(body);
  if (data !== undefined) return data;
  throw new Error(
    `${name}: ${z.prettifyError(error ?? new z.core.$ZodError([]))}\n${JSON.stringify(body)}`,
  );
}
