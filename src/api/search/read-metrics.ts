import { DAY_MS, MINUTE_MS } from "../../core/time.ts";
import type { Runtime } from "../../config/runtime.ts";
import type { Env } from "../../env.ts";
import { statistics } from "../../index-db/read-statistics.ts";
import type { Statistics } from "../../index-db/statistics-shape.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import { type ConnectionQueue, queuesIn } from "../health/queue-health.ts";
import { presentPauses } from "../hosts/paused-hosts.ts";
import { contentToClient } from "../http/client-stream.ts";
import { AnyQuery } from "../http/query.ts";
import { type CheckedRequest, queryRoute } from "../http/route.ts";
import { metricsOf } from "./metrics.ts";
import { CONTENT_TYPES, metricsText } from "./metrics-text.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { queueMetrics } from "./queue-metrics.ts";

const WINDOW_MS = 2 * DAY_MS;
/**
 * Time in milliseconds for which the statistics that `/metrics` shows are kept in memory. Several programs may read
 * `/metrics`, and each computation reads index rows, which cost money.
 */
const KEEP_MS = MINUTE_MS;

/** Statistics of the index, states of the queues and the number of paused hosts, and when they were read. */
interface Known {
  readonly found: Statistics;
  readonly queues: readonly ConnectionQueue[];
  /** Number of the receivers' hosts that are paused. Null when it could not be read. */
  readonly pausedHosts: number | null;
  /** Time at which they were read, in Unix milliseconds. */
  readonly at: number;
}

/** Statistics that were read last. They are shared by all callers, because only operators may ask for the metrics. */
const recent = new EnvCache<Known>(() => KEEP_MS);

export const readMetrics = queryRoute(
  {
    id: "readMetrics",
    method: "GET",
    path: "/metrics",
    access: "statistics",
  },
  AnyQuery,
  presentMetrics,
);

/** Returns the response with the relay's metrics, in the format for which the header `Accept` asks. */
async function presentMetrics({
  env,
  runtime,
  request,
}: Pick<CheckedRequest<never, unknown>, "env" | "runtime" | "request">): Promise<Response> {
  const { found, queues, pausedHosts, at } = await recent.get(env, (now) =>
    readKnown(env, runtime, now),
  );
  const accepted = request.headers.get("Accept") ?? "";
  const format = accepted.includes("application/openmetrics-text") ? "openmetrics" : "text";
  const { paused: isPaused } = runtime.config;
  const families = [
    ...metricsOf(found, at, { version: env.startup.version, isPaused, pausedHosts }),
    ...queueMetrics(queues, at),
  ];
  return new Response(contentToClient(metricsText(families, format)), {
    headers: { "Content-Type": CONTENT_TYPES[format], Vary: "Accept" },
  });
}

async function readKnown(env: Env, runtime: Runtime, at: number): Promise<Known> {
  const shards = requireIndex(env, runtime);
  const window = { since: at - WINDOW_MS, until: at + 1 };
  const [found, queues, pauses] = await Promise.all([
    queryIndex(() => statistics(shards, window, at)),
    queuesIn(runtime.config, env),
    presentPauses(env),
  ]);
  return { found, queues, pausedHosts: pauses?.length ?? null, at };
}
