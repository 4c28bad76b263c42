import { requireHost } from "./api/http/host.ts";
import { linkOrigin } from "./api/http/link-origin.ts";
import { problemFrom } from "./api/http/internal-error.ts";
import { Problem, problemResponse } from "./api/http/problem.ts";
import { PROBLEMS } from "./api/http/problem-list.ts";
import { type PathMatch, rawPathOf, routerOf } from "./api/http/router.ts";
import { SECURITY_HEADERS } from "./api/http/security-headers.ts";
import { ROUTES } from "./api/routes.ts";
import type { Env } from "./env.ts";
import { logAs, type LogLevel } from "./log.ts";
import { isForBrowser } from "./browser-request.ts";
import { logSettingsOf } from "./config/runtime.ts";

/** The HTTP server of the relay: the routes of the API and, for browsers, the console. */
export const app = { fetch: answer };

const routesOf = routerOf(ROUTES);

/** Pattern of an `X-Request-Id` of a request that the answer repeats. */
const REQUEST_ID = /^[\w=-]{1,255}$/;

/** Path that the log gives for a refused request without a route or with an invalid `Host` header. */
const NO_ROUTE = "/*";

/** Paths of the public routes, on which anyone may send a request without a key. */
const OPEN_PATHS: ReadonlySet<string> = new Set(
  ROUTES.filter(({ access }) => access === "anyone").map(({ path }) => path),
);

async function answer(request: Request, env: Env): Promise<Response> {
  const givenId = request.headers.get("X-Request-Id");
  const isUsable = givenId !== null && REQUEST_ID.test(givenId);
  const requestId = isUsable ? givenId : crypto.randomUUID();
  const response = await routed(request, env, requestId);
  const { headers } = response;
  for (const [name, value] of SECURITY_HEADERS) headers.set(name, value);
  headers.set("X-Request-Id", requestId);
  // `Cache-Control` defaults to `no-store`, because two users may share a browser cache.
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  return request.method === "HEAD" ? new Response(null, response) : response;
}

async function routed(request: Request, env: Env, requestId: string): Promise<Response> {
  let match: PathMatch | null = null;
  try {
    const url = requireHost(request);
    const path = rawPathOf(request.url);
    match = routesOf(path);
    if (match !== null) {
      const { params } = match;
      return await routeOf(match, request).handle({ request, env, url, params });
    }
    // Without a slash at its end, the path may be one of the console.
    if ((path.length > 1 && path.endsWith("/")) || !isForBrowser(request)) throw noRoute();
    const { answerBrowser } = await loadConsole();
    return await answerBrowser(request, env);
  } catch (error) {
    return refusal(problemFrom(error), match?.path ?? NO_ROUTE, request, env, requestId);
  }
}

/** Returns the route of a path for the method of a request. HEAD has the route of GET. */
function routeOf({ byMethod }: PathMatch, { method }: Request) {
  const route = byMethod.get(method === "HEAD" ? "GET" : method);
  if (route !== undefined) return route;
  const methods = [...byMethod.keys()].flatMap((each) =>
    each === "GET" ? [each, "HEAD"] : [each],
  );
  const allowed = methods.join(", ");
  const detail = `This path supports ${allowed}.`;
  throw new Problem("method_not_allowed", { detail, headers: { Allow: allowed } });
}

async function refusal(
  problem: Problem,
  path: string,
  request: Request,
  env: Env,
  requestId: string,
): Promise<Response> {
  const { code, details } = problem;
  const { status } = PROBLEMS[code];
  const reason = details.reason == null ? {} : { reason: details.reason };
  const about = { request_id: requestId, method: request.method, path };
  const line = { event: "request.refused", ...about, status, code, ...reason };
  logAs(levelOfRefusal(status, path), line, logSettingsOf(env));
  if (path === NO_ROUTE && isForBrowser(request)) {
    const { answerProblem } = await loadConsole();
    return answerProblem(problem, { request, env, requestId });
  }
  return problemResponse(problem, linkOrigin(env, request));
}

/** Loads the console, which is evaluated at its first use: a relay that nobody looks at starts without it. */
function loadConsole() {
  return import("./console/index.tsx");
}

/**
 * Returns the log level of a refused request: `warn` for a status from 500 on; `detail`, which is normally
 * not written, for 401, 405 and 429, for a 404 on a path that needs no key and for a request to no route;
 * else `info`. The refusals of the level `detail` are those that strangers get who scan the relay; a line for
 * each would let them fill the log. A rate limit that is reached has a line of its own
 * (api/http/rate-limit.ts).
 */
function levelOfRefusal(status: number, path: string): LogLevel {
  if (status >= 500) return "warn";
  if ([401, 405, 429].includes(status) || path === NO_ROUTE) return "detail";
  return status === 404 && OPEN_PATHS.has(path) ? "detail" : "info";
}

function noRoute(): Problem {
  return new Problem("not_found", { detail: "No route has this path." });
}
