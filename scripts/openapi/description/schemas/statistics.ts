import * as z from "zod/mini";
import { FOUND_BY } from "../../../../src/core/record/finding.ts";
import {
  Count,
  Counts,
  described,
  DurationMs,
  named,
  Time,
} from "../../../../src/api/shapes/described.ts";

const Ratio = z.nullable(z.number());
const QUANTILES = {
  p50: z.nullable(DurationMs),
  p95: z.nullable(DurationMs),
  p99: z.nullable(DurationMs),
};
const Quantiles = z.strictObject(QUANTILES);
const Backlog = z.strictObject({ tasks: Count, oldest_age_ms: z.nullable(DurationMs) });

export const StatisticsView = named(
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
    credits: described(
      z.strictObject({ held: Count, earned: Count, released: Count, refunded: Count }),
      "Credits that were charged for these tasks: those of open tasks and those that are being given back (`held`), those that completed tasks cost (`earned`), and those that were given back because a completed task costs less (`released`) or a task failed (`refunded`).",
    ),
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
          ...QUANTILES,
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
