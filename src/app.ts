import { Hono } from "hono";
import { requireUrl } from "./api/http/host.ts";
import { linkOrigin } from "./api/http/link-origin.ts";
import { problemFrom } from "./api/http/internal-error.ts";
import { honoPath } from "./api/http/path.ts";
import { preflight } from "./api/http/preflight.ts";
import { Problem, problemResponse, refusalLine } from "./api/http/problem.ts";
import { DEFAULT_HEADERS, SECURITY_HEADERS } from "./api/http/security-headers.ts";
import { ROUTES } from "./api/routes.ts";
import { answerBrowser, answerProblem } from "./console/index.tsx";
import type { Env } from "./env.ts";
import { logAs, type LogLevel } from "./log.ts";
import { isForBrowser, isStatusPage } from "./browser-request.ts";
import { isOutputPath, isOutputsHost } from "./api/outputs/outputs-host.ts";
import { configOf, logSettingsOf } from "./config/runtime.ts";

interface Variables {
  readonly requestId: string;
  readonly url: URL;
}

export const app = new Hono<{ Bindings: Env; Variables: Variables }>();

app.use(async (c, next) => {
  c.set("requestId", requestIdOf(c.req.raw));
  await next();
  // `c.header` would copy the whole response at each call.
  const { headers } = c.res;
  for (const [name, value] of SECURITY_HEADERS) headers.set(name, value);
  for (const [name, value] of DEFAULT_HEADERS) if (!headers.has(name)) headers.set(name, value);
  headers.set("X-Request-Id", c.get("requestId"));
  // Hono answers HEAD like GET and drops the body unread, with all that a stream holds open.
  if (c.req.method === "HEAD") await c.res.body?.cancel();
});

app.use(async (c, next) => {
  const { req, env } = c;
  c.set("url", requireUrl(req.raw));
  // Hono's router would ignore a final slash, so that each route had two paths.
  if (req.path.length > 1 && req.path.endsWith("/")) throw noRoute();
  if (isOutputsHost(c.get("url"), configOf(env)) && !isOutputPath(req.path)) throw noRoute();
  if (!isStatusPage(req.raw)) return next();
  return answerBrowser(req.raw, env);
});

for (const route of ROUTES) {
  app.on(route.method, honoPath(route.path), (c) =>
    route.handle({
      request: c.req.raw,
      env: c.env,
      url: c.get("url"),
      params: c.req.param(),
    }),
  );
}

for (const [path, routes] of Map.groupBy(ROUTES, (route) => route.path)) {
  const [allowed] = routes.flatMap(({ crossOriginHeaders }) => crossOriginHeaders ?? []);
  const methods = routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  if (allowed !== undefined) methods.push("OPTIONS");
  app.all(honoPath(path), async ({ req }) => {
    if (allowed !== undefined && req.method === "OPTIONS") return preflight(allowed);
    const detail = `This path supports ${methods.join(", ")}.`;
    throw new Problem("method_not_allowed", { detail, headers: { Allow: methods.join(", ") } });
  });
}

// A catch-all route, because `app.notFound` bypasses the middleware above.
app.all("*", async ({ req, env }) => {
  if (!isForBrowser(req.raw)) throw noRoute();
  return answerBrowser(req.raw, env);
});

app.onError(async (error, c) => {
  const problem = problemFrom(error);
  const { method, routePath: path } = c.req;
  const line = refusalLine(problem, { request_id: c.get("requestId"), method, path });
  logAs(levelOfRefusal(line.status, path), () => line, logSettingsOf(c.env));
  if ((path === NO_ROUTE && isForBrowser(c.req.raw)) || isStatusPage(c.req.raw)) {
    return answerProblem(problem, {
      request: c.req.raw,
      env: c.env,
      requestId: c.get("requestId"),
    });
  }
  return problemResponse(problem, linkOrigin(c.env, c.req.raw));
});

/** Paths of the routes that anyone may call without a key. */
const OPEN_PATHS: ReadonlySet<string> = new Set(
  ROUTES.filter(({ access }) => access === "anyone").map(({ path }) => honoPath(path)),
);

/**
 * Path that the log shows for a refused request that reached no route: no route has the path of the request, the
 * path ends in a slash, or the `Host` header is not a valid host.
 */
const NO_ROUTE = "/*";

/**
 * Returns the log level of a refused request. `warn` is for a status from 500 on. `detail`, which is written only
 * with `LOG=all`, is for 401, 405 and 429, for a 404 on a path that anyone may call, and for a request that reached
 * no route: strangers who scan the relay get these refusals, and a line for each would let them fill the log. `info`
 * is for all other refusals. A rate limit that is reached has a log line of its own (api/http/rate-limit.ts).
 */
function levelOfRefusal(status: number, path: string): LogLevel {
  if (status >= 500) return "warn";
  if ([401, 405, 429].includes(status) || path === NO_ROUTE) return "detail";
  return status === 404 && OPEN_PATHS.has(path) ? "detail" : "info";
}

/** Pattern of a request id that a client may give. */
const REQUEST_ID = /^[\w\-=]{1,255}$/;

/** Returns the id of a request for answer and log: the one that the client gives, by default a random one. */
function requestIdOf({ headers }: Request): string {
  const given = headers.get("X-Request-Id") ?? "";
  return REQUEST_ID.test(given) ? given : crypto.randomUUID();
}

function noRoute(): Problem {
  return new Problem("not_found", { detail: "No route has this path." });
}
