import { type Context, Hono } from "hono";
import { requireUrl } from "./api/http/host.ts";
import { linkOrigin } from "./api/http/link-origin.ts";
import { problemFrom } from "./api/http/internal-error.ts";
import { honoPath } from "./api/http/path.ts";
import { FOR_ANY_ORIGIN, preflight } from "./api/http/cross-origin.ts";
import { Problem, problemResponse, refusalLine } from "./api/http/problem.ts";
import type { Route } from "./api/http/route.ts";
import { DEFAULT_HEADERS, SECURITY_HEADERS } from "./api/http/security-headers.ts";
import { ROUTES } from "./api/routes.ts";
import { answerBrowser, answerProblem } from "./console/console-pages.ts";
import type { Env } from "./env.ts";
import { logAs, type LogLevel } from "./lib/log.ts";
import { isForBrowser, isStatusPage } from "./console/http/browser-request.ts";
import { isOutputPath, isOutputsHost } from "./api/outputs/outputs-host.ts";
import { configOf, logSettingsOf } from "./config/runtime.ts";
import type { KeyHolder } from "./objects/task/caller.ts";

/**
 * A way in which requests reach the relay (its public address, or the service binding of another Worker), and what is
 * special about requests that come this way.
 */
export interface Entrance {
  /** Name of this way in log lines; null for the public address. */
  readonly via: "binding" | null;
  /** Caller as whom a request without a credential counts. Null when such a request is refused. */
  readonly callerWithoutKey: KeyHolder | null;
  /** Tells whether the relay serves a path for requests that come in this way. */
  readonly serves: (path: string) => boolean;
}

/** The public address of the relay, which serves the API and the console. */
const PUBLIC: Entrance = { via: null, callerWithoutKey: null, serves: () => true };

/** The environment of a request, and what is known about the request before its route is found. */
interface Scope {
  readonly env: Env;
  readonly entrance: Entrance;
  readonly url: URL;
  readonly requestId: string;
}

/**
 * Path that the log shows for a refused request that has reached no route: no route has its path, the path ends in a
 * slash, or the `Host` header is not a valid host.
 */
const NO_ROUTE = "/*";

const routes = new Hono<{ Bindings: Scope }>();
/**
 * Router for requests that match no route: a known path with another method, a page of the console, an unknown path. It
 * is separate from `routes`, so that Hono finds exactly one handler for a request to a route and calls it directly.
 */
const unrouted = new Hono<{ Bindings: Scope }>();

for (const route of ROUTES) {
  routes.on(route.method, honoPath(route.path), async ({ req, env: { env, url, entrance } }) => {
    const { callerWithoutKey } = entrance;
    const call = { request: req.raw, env, url, params: req.param(), callerWithoutKey };
    const answer = await route.handle(call);
    // Hono answers HEAD like GET and drops the body unread, with all that a stream holds open.
    if (req.method === "HEAD") await answer.body?.cancel();
    return answer;
  });
}

for (const [path, ofPath] of Map.groupBy(ROUTES, (route) => route.path)) {
  const [open = null] = ofPath.flatMap((route) =>
    route.crossOriginHeaders === undefined
      ? []
      : [{ methods: methodsOf([route]), headers: route.crossOriginHeaders }],
  );
  const supported = [...methodsOf(ofPath), ...(open === null ? [] : ["OPTIONS"])].join(", ");
  unrouted.all(honoPath(path), async ({ req }) => {
    if (open !== null && req.method === "OPTIONS") return preflight(open.methods, open.headers);
    const detail = `This path supports ${supported}.`;
    const headers = { Allow: supported, ...(open !== null && FOR_ANY_ORIGIN) };
    throw new Problem("method_not_allowed", { detail, headers });
  });
}

/** Returns the methods of routes. A route with GET also has HEAD. */
function methodsOf(of: readonly Route[]): readonly string[] {
  return of.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

unrouted.all(NO_ROUTE, async ({ req, env: { env } }) => {
  if (!isForBrowser(req.raw)) throw noRoute();
  return answerBrowser(req.raw, env);
});

routes.notFound(({ req, env }) => unrouted.fetch(req.raw, env));
routes.onError(refused);
unrouted.onError(refused);

function refused(
  error: Error,
  { req, env: { env, entrance, requestId } }: Context<{ Bindings: Scope }>,
): Promise<Response> {
  return refusal(error, { request: req.raw, env, entrance, requestId, path: req.routePath });
}

/** Answers a request to the relay: to its API or, at its public address, to its console. */
export async function answerRequest(
  request: Request,
  env: Env,
  entrance: Entrance = PUBLIC,
): Promise<Response> {
  const requestId = requestIdOf(request);
  const answer = await answerTo(request, { env, entrance, requestId });
  const { headers } = answer;
  for (const [name, value] of SECURITY_HEADERS) headers.set(name, value);
  for (const [name, value] of DEFAULT_HEADERS) if (!headers.has(name)) headers.set(name, value);
  headers.set("X-Request-Id", requestId);
  return answer;
}

/** Returns the answer to a request, without the headers that are added to every answer. */
async function answerTo(request: Request, scope: Omit<Scope, "url">): Promise<Response> {
  const { env, entrance } = scope;
  try {
    const url = requireUrl(request);
    const { pathname } = url;
    // Hono's router would ignore a final slash, so that each route had two paths.
    if (pathname.length > 1 && pathname.endsWith("/")) throw noRoute();
    if (!entrance.serves(pathname)) throw noRoute();
    if (isOutputsHost(url, configOf(env)) && !isOutputPath(pathname)) throw noRoute();
    if (entrance === PUBLIC && isStatusPage(request)) return await answerBrowser(request, env);
    return await routes.fetch(request, { ...scope, url });
  } catch (error) {
    return refusal(error, { ...scope, request, path: NO_ROUTE });
  }
}

/** A refused request, with the facts for the log. `path` is the path of its route. */
interface Refused extends Omit<Scope, "url"> {
  readonly request: Request;
  readonly path: string;
}

/**
 * Logs why a request is refused, and returns the answer: a page for a person, or a problem (the JSON of RFC 9457) for a
 * program.
 */
async function refusal(
  error: unknown,
  { request, env, entrance, requestId, path }: Refused,
): Promise<Response> {
  const problem = problemFrom(error);
  const via = entrance.via === null ? {} : { via: entrance.via };
  const asked = { request_id: requestId, ...via, method: request.method, path };
  const line = refusalLine(problem, asked);
  logAs(levelOfRefusal(line.status, path), () => line, logSettingsOf(env));
  const isOfBrowser = (path === NO_ROUTE && isForBrowser(request)) || isStatusPage(request);
  if (entrance === PUBLIC && isOfBrowser) {
    return answerProblem(problem, { request, env, requestId });
  }
  return problemResponse(problem, linkOrigin(env, request));
}

/** Paths of the routes that anyone may call without a key. */
const OPEN_PATHS: ReadonlySet<string> = new Set(
  ROUTES.filter(({ access }) => access === "anyone").map(({ path }) => honoPath(path)),
);

/**
 * Returns the log level of a refused request. It is `warn` for a status from 500 on. It is `detail` (written only with
 * `LOG=all`) for 401, 405 and 429, for a 404 on a path that anyone may call, and for a request that has reached no
 * route. These refusals are what strangers who scan the relay get, and a line for each would let them fill the log. It
 * is `info` for all other refusals. When a rate limit is reached, this has a log line of its own
 * (api/http/rate-limit.ts).
 */
function levelOfRefusal(status: number, path: string): LogLevel {
  if (status >= 500) return "warn";
  if ([401, 405, 429].includes(status) || path === NO_ROUTE) return "detail";
  return status === 404 && OPEN_PATHS.has(path) ? "detail" : "info";
}

/** Pattern of a request id that the relay accepts from a client. */
const REQUEST_ID = /^[\w\-=]{1,255}$/;

/** Returns the id of a request for the answer and the log: the id that the client has sent, otherwise a random one. */
function requestIdOf({ headers }: Request): string {
  const given = headers.get("X-Request-Id") ?? "";
  return REQUEST_ID.test(given) ? given : crypto.randomUUID();
}

function noRoute(): Problem {
  return new Problem("not_found", { detail: "No route has this path." });
}
