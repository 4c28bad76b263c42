import { DAY_MS, MINUTE_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { BOUNDS_MS } from "../../index-db/buckets.ts";
import { foundLateOf, type Histogram } from "../../index-db/found-late.ts";
import type { Shards } from "../../index-db/shards.ts";
import type { Statistics } from "../../index-db/stats.ts";
import { shardStatistics } from "../../index-db/stats-shards.ts";
import { AnyQuery } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { queryIndex, requireIndex } from "./query-index.ts";

const WINDOW_MS = 2 * DAY_MS;
/**
 * Time in milliseconds for which the answer of `/metrics` is kept in memory, because several scrapers may
 * read it and each computation reads rows of the index, which cost money.
 */
const KEEP_MS = MINUTE_MS;

interface Rendered {
  readonly text: string;
  readonly expiresAt: number;
}

/**
 * Answer of `/metrics` that was computed last, for each environment of the Worker. All callers get the same
 * answer, because only operators may read it.
 */
const cached = new WeakMap<Env, Rendered>();

export const readMetrics = queryRoute(
  {
    method: "GET",
    path: "/metrics",
    access: "statistics",
    summary: "Read counts and latencies of the last 48 hours as OpenMetrics text",
    answers: { 200: "the metrics" },
    errors: ["index_disabled"],
  },
  AnyQuery,
  async ({ env, runtime }) => {
    const shards = requireIndex(env, runtime);
    const now = Date.now();
    const known = cached.get(env);
    const isFresh = known !== undefined && now < known.expiresAt;
    const { text } = isFresh ? known : await render(shards, env, now);
    return new Response(text, {
      headers: {
        "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8",
      },
    });
  },
);

async function render(shards: Shards, env: Env, now: number): Promise<Rendered> {
  const window = { since: now - WINDOW_MS, until: now + 1 };
  const found = await queryIndex(() => shardStatistics(shards, window, now));
  const rendered = { text: textOf(found, now), expiresAt: now + KEEP_MS };
  cached.set(env, rendered);
  return rendered;
}

/**
 * Formats the statistics of the index as OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics). Every
 * value is a gauge, not a counter, because it can fall: the counts cover the tasks created in the last 48
 * hours, and a redelivery or an erasure changes them too.
 */
function textOf(found: Statistics, now: number): string {
  const { counts, histograms, found: rows, backlog, overdue, expiryLost, sizeBytes } = found;
  const ended = counts.filter(({ status }) => status === "completed" || status === "failed");
  const settled = counts.filter(
    ({ callback }) => callback === "delivered" || callback === "failed",
  );
  const tasks = ended.map(({ status, model, tasks: value }) => ({
    labels: { status, model },
    value,
  }));
  const callbacks = settled.map(({ callback: outcome, host, tasks: value }) => ({
    labels: { outcome, host },
    value,
  }));
  const foundLate = foundLateOf(rows).map(({ provider, foundBy, histogram: value }) => ({
    labels: { provider, found_by: foundBy },
    value,
  }));
  const attempts = settled.map(({ host, attempts: value }) => ({ labels: { host }, value }));
  return [
    ...gauges("task_relay_tasks", "Tasks that ended, by status and model.", tasks),
    ...gauges("task_relay_callbacks", "Callbacks that settled, by outcome and host.", callbacks),
    ...gauges("task_relay_attempts", "Attempts of settled callbacks, by host.", attempts),
    ...histogram("task_relay_first_attempt", "From the result to the first attempt.", [
      { labels: {}, value: histograms.first_attempt },
    ]),
    ...histogram("task_relay_settled", "From the result to the end of the callback.", [
      { labels: {}, value: histograms.settled },
    ]),
    ...histogram("task_relay_index_lag", "From a change to its row in the index.", [
      { labels: {}, value: histograms.index },
    ]),
    ...histogram("task_relay_found_late", "From the end of the job to its result.", foundLate),
    ...gauge("task_relay_backlog_tasks", "Tasks in the index that are not settled.", backlog.tasks),
    ...gauge("task_relay_overdue_tasks", "Of these, how many should have changed.", overdue.tasks),
    ...gauge(
      "task_relay_overdue_seconds",
      "Age of the oldest of these.",
      ageS(overdue.oldestAt, now),
    ),
    ...gauge("task_relay_expiry_lost_tasks", "Tasks found after their retention.", expiryLost),
    ...gauge("task_relay_index_bytes", "Size of the largest database of the index.", sizeBytes),
    "# EOF",
    "",
  ].join("\n");
}

interface Sample<T> {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: T;
}

function gauges(name: string, help: string, samples: readonly Sample<number>[]): readonly string[] {
  const summed = new Map<string, number>();
  for (const { labels, value } of samples) {
    const key = labelsOf(labels);
    summed.set(key, (summed.get(key) ?? 0) + value);
  }
  const lines = [...summed].map(([labels, value]) => `${name}${labels} ${value}`);
  return [`# TYPE ${name} gauge`, `# HELP ${name} ${help}`, ...lines];
}

function gauge(name: string, help: string, value: number): readonly string[] {
  return [`# TYPE ${name} gauge`, `# HELP ${name} ${help}`, `${name} ${value}`];
}

function histogram(
  base: string,
  help: string,
  samples: readonly Sample<Histogram>[],
): readonly string[] {
  const name = `${base}_seconds`;
  return [
    `# TYPE ${name} gaugehistogram`,
    `# UNIT ${name} seconds`,
    `# HELP ${name} ${help}`,
    ...samples.flatMap((sample) => bucketLines(name, sample)),
  ];
}

function bucketLines(name: string, { labels, value }: Sample<Histogram>): readonly string[] {
  let below = 0;
  const buckets = value.counts.map((count, bucket) => {
    below += count;
    const bound = BOUNDS_MS[bucket];
    const le = bound === undefined ? "+Inf" : String(bound / 1000);
    return `${name}_bucket${labelsOf({ ...labels, le })} ${below}`;
  });
  const own = labelsOf(labels);
  return [
    ...buckets,
    `${name}_gsum${own} ${value.totalMs / 1000}`,
    `${name}_gcount${own} ${below}`,
  ];
}

function labelsOf(labels: Sample<unknown>["labels"]): string {
  if (Object.keys(labels).length === 0) return "";
  const escaped = Object.entries(labels).map(([name, value]) => {
    const text = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${text}"`;
  });
  return `{${escaped.join(",")}}`;
}

function ageS(since: number | null, now: number): number {
  return since === null ? 0 : Math.max(0, now - since) / 1000;
}
