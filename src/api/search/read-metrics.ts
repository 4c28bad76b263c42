import { DAY_MS, MINUTE_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { versionOf } from "../../config/runtime.ts";
import type { Shards } from "../../index-db/shards.ts";
import type { Statistics } from "../../index-db/statistics.ts";
import { shardStatistics } from "../../index-db/stats-shards.ts";
import type { AuthenticatedRequest } from "../http/route.ts";
import { metricsOf } from "./metrics.ts";
import { CONTENT_TYPES, metricsText } from "./metrics-text.ts";
import { queryIndex, requireIndex } from "./query-index.ts";

const WINDOW_MS = 2 * DAY_MS;
/**
 * Time in milliseconds for which the answer of `/metrics` is kept in memory, because several scrapers may
 * read it and each computation reads rows of the index, which cost money.
 */
const KEEP_MS = MINUTE_MS;

interface Known {
  readonly found: Statistics;
  /** Time at which the statistics were read from the index, in Unix milliseconds. */
  readonly at: number;
}

/**
 * Statistics that were computed last, one for each `env` object of the Worker. All callers get the same
 * answer, because only operators may read it.
 */
const cached = new WeakMap<Env, Known>();

/** Answers with the metrics of the relay, in the format that the header `Accept` asks for. */
export async function presentMetrics({
  env,
  runtime,
  request,
}: Pick<AuthenticatedRequest<unknown>, "env" | "runtime" | "request">): Promise<Response> {
  const shards = requireIndex(env, runtime);
  const now = Date.now();
  let known = cached.get(env);
  if (known === undefined || now >= known.at + KEEP_MS) known = await compute(shards, env, now);
  const accepted = request.headers.get("Accept") ?? "";
  const format = accepted.includes("application/openmetrics-text") ? "openmetrics" : "text";
  const { paused: isPaused } = runtime.config;
  const families = metricsOf(known.found, known.at, { version: versionOf(env), isPaused });
  return new Response(metricsText(families, format), {
    headers: { "Content-Type": CONTENT_TYPES[format], Vary: "Accept" },
  });
}

async function compute(shards: Shards, env: Env, at: number): Promise<Known> {
  const window = { since: at - WINDOW_MS, until: at + 1 };
  const known = { found: await queryIndex(() => shardStatistics(shards, window, at)), at };
  cached.set(env, known);
  return known;
}
