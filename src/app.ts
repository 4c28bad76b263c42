import { Hono } from "hono/tiny";
import { requestId, type RequestIdVariables } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { Problem, PROBLEMS, problemResponse } from "./api/http/problem.ts";
import { ROUTES } from "./api/routes.ts";
import type { Env } from "./env.ts";
import { errorText, log } from "./log.ts";
import { configOf } from "./config/runtime.ts";

export const app = new Hono<{ Bindings: Env; Variables: RequestIdVariables }>();

app.use(requestId());
app.use(async (c, next) => {
  await next();
  c.header("X-Request-Id", c.get("requestId"));
  // What does not say who may keep it is nobody's to keep: one browser may have two users.
  if (!c.res.headers.has("Cache-Control")) c.header("Cache-Control", "no-store");
});
app.use(secureHeaders());

for (const route of ROUTES) {
  app.on(route.method, pattern(route.path), (c) =>
    route.handle({
      request: c.req.raw,
      env: c.env,
      url: new URL(c.req.url),
      params: c.req.param(),
    }),
  );
}

for (const [path, routes] of Map.groupBy(ROUTES, (route) => route.path)) {
  const methods = routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  app.all(pattern(path), () => {
    const detail = `This path answers ${methods.join(", ")}.`;
    throw new Problem("method_not_allowed", { detail, headers: { Allow: methods.join(", ") } });
  });
}

// Not as `notFound`, which answers outside the middleware.
app.all("*", () => {
  throw new Problem("not_found", { detail: "There is nothing at this path." });
});

app.onError((error, c) => {
  const problem = error instanceof Problem ? error : internalError(error);
  const { code } = problem;
  const { status } = PROBLEMS[code];
  const { method, routePath: path } = c.req;
  log({ event: "request.refused", request_id: c.get("requestId"), method, path, status, code });
  return problemResponse(problem, originOf(c.env, c.req.url));
});

/** Hono writes `:id` where the table writes `{id}`. */
function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function internalError(error: Error): Problem {
  log({ event: "request.failed", error: errorText(error) });
  return new Problem("internal_error", { detail: "The request was not carried out." });
}

function originOf(env: Env, url: string): string {
  const result = configOf(env);
  return (result.ok ? result.value.publicUrl : null) ?? new URL(url).origin;
}
