import * as z from "zod/mini";
import { CONTENT_TYPES } from "../../../src/api/search/metrics-text.ts";
import { jsonAnswer, type RouteDescription } from "./description.ts";
import { TASK_ID } from "./examples.ts";
import { LIST_PARAMETERS } from "./parameters.ts";
import { Count, described, NextCursor } from "../../../src/api/shapes/described.ts";
import { StatisticsView } from "./schemas/statistics.ts";

const QUANTILES = { p50: 100, p95: 1000, p99: 2000 };
const STATISTICS = {
  since: 1_767_139_200,
  until: 1_767_229_200,
  counted_at: 1_767_225_600,
  tasks: { total: 120, completed: 117, failed: 3 },
  callbacks: { delivered: 119, failed: 1, success_rate: 0.9917, attempts_per_callback: 1.0083 },
  credits: { held: 200, earned: 4_107, released: 893, refunded: 36 },
  models: { "seedance-1-pro": 120 },
  outputs: { kept: 116, bytes: 1_218_000_000, lost: 1 },
  latency_ms: { first_attempt: QUANTILES, settled: QUANTILES },
  found_late_ms: [
    { provider: "fal", found_by: "hook" as const, tasks: 117, mean: 412, ...QUANTILES },
  ],
  top_failing_hosts: [{ host: "client.example.com", failed: 1, tasks: 80 }],
  backlog: { tasks: 0, oldest_age_ms: null },
  submit_unknown: { tasks: 0, oldest_age_ms: null },
  index: { lag_ms: QUANTILES, overdue: { tasks: 0, oldest_age_ms: null } },
};
const METRICS = [
  "# TYPE task_relay_paused gauge",
  "# HELP task_relay_paused 1 while PAUSED is set.",
  "task_relay_paused 0",
  "",
].join("\n");
const Metrics = z.string();

/**
 * Descriptions of the routes that read the statistics and metrics of all tasks, and of those that redeliver,
 * reindex or wake many tasks.
 */
export const SEARCH_ROUTES = {
  readStats: {
    audience: "operator",
    summary: "Read counts, rates and latencies of the tasks created in a window of whole hours",
    details:
      "The tasks are those created in the window. `found_late_ms` says how late results were found.",
    request: {
      query: {
        since: {
          description: "Begin of the window in Unix seconds; by default 24 hours before its end.",
          integer: { min: 0, max: 99_999_999_999 },
        },
        until: {
          description: "End of the window in Unix seconds; by default that of the present hour.",
          integer: { min: 0, max: 99_999_999_999 },
        },
      },
    },
    answers: { 200: jsonAnswer("the statistics", StatisticsView, STATISTICS) },
    problems: ["index_disabled"],
  },
  readMetrics: {
    audience: "operator",
    summary: "Read totals, and counts and latencies of the last 48 hours, for Prometheus",
    request: { headers: ["Accept"] },
    answers: {
      200: {
        description: "the metrics; as OpenMetrics where Accept asks for it",
        content: {
          [CONTENT_TYPES.text]: { schema: Metrics, example: METRICS },
          [CONTENT_TYPES.openmetrics]: { schema: Metrics, example: `${METRICS}# EOF\n` },
        },
        headers: { Vary: "always" },
      },
    },
    problems: ["index_disabled"],
  },
  redeliverMany: {
    audience: "operator",
    summary:
      "Redeliver the settled callbacks of a list, one page per call; ?dry_run=true only counts",
    details: "Needs an `Idempotency-Key` unless it only counts; use the same one for all pages.",
    request: {
      headers: ["Idempotency-Key"],
      query: {
        ...LIST_PARAMETERS,
        limit: {
          description: "Largest number of tasks; at most 500 without `dry_run`.",
          integer: { min: 1, max: 10_000, fallback: 100 },
        },
        dry_run: { description: "`true` only counts the tasks.", example: true },
      },
      example: {},
    },
    answers: {
      200: jsonAnswer(
        "counts of this page; repeat the call with next_cursor",
        z.strictObject({
          matched: Count,
          started: Count,
          skipped: Count,
          skipped_because: described(
            z.record(z.string(), Count),
            "Number of skipped tasks by reason: `task_open`, `series_running`, `no_callback`, `already_ordered`, `idempotency_key_reused` (with a `callback_url`), `unknown_task`, `unreachable`.",
          ),
          next_cursor: NextCursor,
        }),
        {
          matched: 12,
          started: 11,
          skipped: 1,
          skipped_because: { series_running: 1 },
          next_cursor: null,
        },
      ),
    },
    problems: ["index_disabled"],
  },
  reindex: {
    audience: "operator",
    summary: "Rebuild the index rows of up to 500 tasks",
    request: { example: { ids: [TASK_ID] }, fields: { ids: "Ids of 1 to 500 tasks." } },
    answers: {
      200: jsonAnswer(
        "counts of tasks that will be written, are unknown, or failed",
        z.strictObject({ indexed: Count, unknown: Count, failed: Count }),
        { indexed: 1, unknown: 0, failed: 0 },
      ),
    },
    problems: ["index_disabled"],
  },
  wakeTasks: {
    audience: "operator",
    summary: "Start the due work of up to 500 tasks, also of those whose alarms were lost",
    request: {
      example: { all: true },
      fields: {
        ids: "Ids of 1 to 500 tasks; either `ids` or `all` is required.",
        all: "`true` wakes every task that is not settled in the index, a page per call.",
        cursor: "`next_cursor` of the page before, with `all`.",
      },
    },
    answers: {
      200: jsonAnswer(
        "counts of tasks that were woken, are unknown, or failed; and next_cursor",
        z.strictObject({ woken: Count, unknown: Count, failed: Count, next_cursor: NextCursor }),
        { woken: 500, unknown: 0, failed: 0, next_cursor: null },
      ),
    },
    problems: ["index_disabled"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
