import * as z from "zod/mini";
import { json } from "../http/answer.ts";
import { AnyQuery, pageLimit } from "../http/query.ts";
import { queryRoute, route } from "../http/route.ts";
import { QueryTimeS } from "./filters.ts";
import { requireIndex } from "./query-index.ts";

// Overviews for operators, which the console shows too. Their modules are evaluated at the first request for
// one, because most requests need none.
export const readProblems = route(
  {
    id: "readProblems",
    method: "GET",
    path: "/v1/problems",
    access: "inspect",
  },
  async ({ env, runtime: { config } }) => {
    const { problemsView } = await import("./read-problems.ts");
    return json(await problemsView(env, config));
  },
);

export const listHosts = queryRoute(
  {
    id: "listHosts",
    method: "GET",
    path: "/v1/hosts",
    access: "inspect",
  },
  z.strictObject({ limit: pageLimit({ fallback: 100, max: 500 }) }),
  async ({ env, runtime, query: { limit } }) => {
    const { allHosts } = await import("./read-hosts.ts");
    const { data, ...rest } = await allHosts(env, requireIndex(env, runtime));
    return json({ ...rest, total: data.length, data: data.slice(0, limit) });
  },
);

export const readHost = route(
  {
    id: "readHost",
    method: "GET",
    path: "/v1/hosts/{host}",
    access: "inspect",
  },
  async ({ env, runtime, params: { host } }) => {
    const { oneHostView } = await import("./read-hosts.ts");
    return json(await oneHostView(host, env, runtime));
  },
);

/** Schema of the query parameters of `GET /v1/stats/series`. */
const SeriesQuery = z.strictObject({
  since: QueryTimeS,
  until: QueryTimeS,
  step: z._default(z.enum(["3600", "86400"], "must be 3600 or 86400"), "3600"),
});

export const readSeries = queryRoute(
  {
    id: "readSeries",
    method: "GET",
    path: "/v1/stats/series",
    access: "statistics",
  },
  SeriesQuery,
  async ({ env, runtime, query }) => {
    const { series } = await import("./read-series.ts");
    return json(await series(env, requireIndex(env, runtime), query));
  },
);

export const readMetrics = queryRoute(
  {
    id: "readMetrics",
    method: "GET",
    path: "/metrics",
    access: "statistics",
  },
  AnyQuery,
  async (call) => {
    const { presentMetrics } = await import("./read-metrics.ts");
    return presentMetrics(call);
  },
);
