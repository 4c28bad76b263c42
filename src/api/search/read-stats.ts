import * as z from "zod/mini";
import { HOUR_S, toSeconds } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import { quantiles } from "../../index-db/buckets.ts";
import { type FoundLate, foundLateOf } from "../../index-db/found-late.ts";
import { statistics } from "../../index-db/read-statistics.ts";
import type { Statistics } from "../../index-db/statistics-shape.ts";
import { json } from "../http/answer.ts";
import { invalidRequest } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, operation } from "../operation.ts";
import { ratio } from "./count-views.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { QueryTimeS } from "./filters.ts";

const DEFAULT_HOURS = 24;
const TOP_HOSTS = 10;

/** Schema of the query of `GET /v1/stats`: the time range in which the tasks to count were created. */
const Window = z.strictObject({ since: QueryTimeS, until: QueryTimeS });

/** Counts the tasks of the relay that were created in a time range. */
const readStats = operation(
  "readStats",
  { access: "statistics", query: Window, body: NoBody },
  async ({ env, runtime, query }) => {
    const shards = requireIndex(env, runtime);
    const now = Date.now();
    const window = windowOf(query, toSeconds(now));
    const found = await queryIndex(() =>
      statistics(shards, { since: window.since * 1000, until: window.until * 1000 }, now),
    );
    return { ...window, ...viewOf(found, now) };
  },
);

export const readStatsRoute = routeOf({ method: "GET", path: "/v1/stats" }, readStats, (stats) =>
  json(stats),
);

/**
 * Extends the time range from `since` to `until` (Unix seconds) to whole hours. By default the range is the present
 * hour and the 24 hours before it.
 */
function windowOf(given: z.output<typeof Window>, nowS: number) {
  const until = given.until ?? nowS + 1;
  const end = Math.ceil(until / HOUR_S) * HOUR_S;
  const since = given.since ?? Math.max(0, end - (DEFAULT_HOURS + 1) * HOUR_S);
  if (since < until) return { since: Math.floor(since / HOUR_S) * HOUR_S, until: end };
  throw invalidRequest([{ path: "/since", message: "must be before until" }]);
}

function viewOf(found: Statistics, now: number) {
  const { counts, sums, hosts, histograms, totals } = found;
  const { backlog, overdue, submitUnknown } = found;
  const callbacks = sumBy(counts, ({ callback }) => callback);
  const { delivered = 0, failed = 0 } = callbacks;
  const countedAt = Math.max(0, ...totals.map(({ advancedAt }) => advancedAt));
  const ended = counts.filter(({ callback }) => callback === "delivered" || callback === "failed");
  return {
    counted_at: countedAt === 0 ? null : toSeconds(countedAt),
    tasks: { total: total(counts), ...sumBy(counts, ({ status }) => status) },
    callbacks: {
      ...callbacks,
      success_rate: ratio(delivered, delivered + failed),
      attempts_per_callback: ratio(sum(ended.map(({ attempts }) => attempts)), total(ended)),
    },
    credits: {
      held: sums.credits_held,
      earned: sums.credits_earned,
      released: sums.credits_released,
      refunded: sums.credits_refunded,
    },
    models: sumBy(counts, ({ model }) => model),
    outputs: {
      kept: sums.kept_outputs,
      bytes: sums.kept_bytes,
      lost: sums.lost_outputs,
    },
    latency_ms: {
      first_attempt: quantiles(histograms.first_attempt.counts),
      settled: quantiles(histograms.settled.counts),
    },
    found_late_ms: foundLateOf(found.found).map(foundLateView),
    top_failing_hosts: topFailing(hosts),
    backlog: ageView(backlog, now),
    submit_unknown: ageView(submitUnknown, now),
    index: { lag_ms: quantiles(histograms.index.counts), overdue: ageView(overdue, now) },
  };
}

function ageView({ tasks, oldestAt }: Statistics["backlog"], now: number) {
  return { tasks, oldest_age_ms: oldestAt === null ? null : Math.max(0, now - oldestAt) };
}

function foundLateView({ provider, foundBy, histogram }: FoundLate) {
  const tasks = sum(histogram.counts);
  const head = { provider: provider === "" ? null : provider, found_by: foundBy, tasks };
  return { ...head, mean: Math.round(histogram.totalMs / tasks), ...quantiles(histogram.counts) };
}

function topFailing(counts: Statistics["hosts"]) {
  const failed = Object.entries(
    sumBy(
      counts.filter(({ callback }) => callback === "failed"),
      ({ host }) => host,
    ),
  );
  const all = sumBy(counts, ({ host }) => host);
  return failed
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, TOP_HOSTS)
    .map(([host, number]) => ({ host, failed: number, tasks: all[host] ?? number }));
}

/**
 * Adds up the numbers of tasks of several rows, separately for each text that `keyOf` returns for a row. Rows with an
 * empty text are left out.
 */
function sumBy<T extends { readonly tasks: number }>(
  counts: readonly T[],
  keyOf: (count: T) => string,
): Record<string, number> {
  const groups = Map.groupBy(counts, keyOf);
  groups.delete("");
  return Object.fromEntries([...groups].map(([key, group]) => [key, total(group)]));
}

function total(counts: readonly { readonly tasks: number }[]): number {
  return sum(counts.map(({ tasks }) => tasks));
}
