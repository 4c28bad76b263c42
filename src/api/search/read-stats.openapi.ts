import * as z from "zod/mini";
import { FOUND_BY } from "../../core/record/finding.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, Counts, described, DurationMs, named, Time } from "../shapes/described.ts";
import { CreditCounts, Ratio } from "./count-views.openapi.ts";

const QUANTILE_FIELDS = {
  p50: z.nullable(DurationMs),
  p95: z.nullable(DurationMs),
  p99: z.nullable(DurationMs),
};

const Quantiles = z.strictObject(QUANTILE_FIELDS);

const Backlog = z.strictObject({ tasks: Count, oldest_age_ms: z.nullable(DurationMs) });

const StatisticsView = named(
  "Statistics",
  z.strictObject({
    since: Time,
    until: Time,
    counted_at: described(z.nullable(Time), "When the cron trigger last counted."),
    tasks: described(Counts, "`total`, and the number of each status."),
    callbacks: z.catchall(
      z.object({ success_rate: Ratio, attempts_per_callback: Ratio }),
      z.nullable(z.number()),
    ),
    credits: CreditCounts,
    models: described(Counts, "Tasks by model."),
    outputs: described(
      z.strictObject({
        kept: described(Count, "Outputs of which the relay has a copy."),
        bytes: described(Count, "Size of these copies together."),
        lost: described(Count, "Outputs whose copies were given up."),
      }),
      "Outputs of these tasks. Those that are still being copied, or were deleted, are not among them.",
    ),
    latency_ms: z.strictObject({ first_attempt: Quantiles, settled: Quantiles }),
    found_late_ms: described(
      z.array(
        z.strictObject({
          provider: z.nullable(z.string()),
          found_by: z.enum(FOUND_BY),
          tasks: Count,
          mean: z.number(),
          ...QUANTILE_FIELDS,
        }),
      ),
      "How late results were found after the end of the job.",
    ),
    top_failing_hosts: z.array(z.strictObject({ host: z.string(), failed: Count, tasks: Count })),
    backlog: described(Backlog, "Tasks that are not settled."),
    submit_unknown: described(
      Backlog,
      "Open tasks whose submission has an unknown outcome: it may have started a job or not.",
    ),
    index: z.strictObject({ lag_ms: Quantiles, overdue: Backlog }),
  }),
  "Counts, rates and latencies of the tasks created in a window of whole hours.",
);

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

export const readStatsDescription = {
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
} as const satisfies RouteDescription;
