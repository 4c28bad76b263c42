import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, Counts, described, named, Time } from "../shapes/described.ts";
import { CALLBACK_COUNTS, CreditCounts, TaskCounts } from "./count-views.openapi.ts";
import { WINDOW_PARAMETERS } from "./filters.openapi.ts";

const Buckets = z.array(Count);

const Series = named(
  "Series",
  z.strictObject({
    counted_at: z.nullable(Time),
    since: Time,
    until: Time,
    step_s: z.int(),
    bounds_ms: described(
      z.array(z.number()),
      "Upper bounds of the buckets of the histograms `latency`.",
    ),
    job_bounds_ms: described(
      z.array(z.number()),
      "Upper bounds of the buckets of the histograms `times` of `jobs`.",
    ),
    steps: z.array(
      z.strictObject({
        at: described(Time, "Begin of the hour or day that these counts are about."),
        tasks: TaskCounts,
        callbacks: z.strictObject({
          ...CALLBACK_COUNTS,
          outcomes: described(
            z.record(z.string(), Count),
            "Number of the attempts that have ended with each outcome; others are 0.",
          ),
        }),
        latency: z.strictObject({ first_attempt: Buckets, settled: Buckets }),
        credits: CreditCounts,
        jobs: described(
          z.array(
            z.strictObject({
              provider: z.string(),
              completed: Count,
              failures: described(Counts, "Failed tasks by category of the failure; others are 0."),
              times: described(
                Buckets,
                "Completed tasks by the time from the call that has submitted the job (without a call of the relay: from the creation of the task) to the acceptance of the result. A wait for a place is no part of it.",
              ),
            }),
          ),
          "Ended tasks of each connection that has any.",
        ),
      }),
    ),
  }),
  "Counts and latency histograms of the tasks created in each step of a window.",
);

const SINCE_S = 1_767_139_200;

export const readSeriesDescription = {
  audience: "operator",
  summary: "Read the counts and latency histograms of the tasks created in each hour or day",
  details: "At most 200 steps; by default those of the last 25 hours, or of 30 days.",
  request: {
    query: {
      ...WINDOW_PARAMETERS,
      step: {
        description: "Length of a step in seconds: `3600` (the default) or `86400`.",
        example: "3600",
      },
    },
  },
  answers: {
    200: jsonAnswer("one entry for each step, also for those without tasks", Series, {
      counted_at: SINCE_S + 86_000,
      since: SINCE_S,
      until: SINCE_S + 3600,
      step_s: 3600,
      bounds_ms: [100, 1000],
      job_bounds_ms: [60_000, 120_000],
      steps: [
        {
          at: SINCE_S,
          tasks: {
            total: 6,
            pending: 0,
            processing: 1,
            completed: 4,
            failed: 1,
            failures: { moderation: 1 },
          },
          callbacks: {
            waiting: 1,
            sending: 0,
            retrying: 0,
            paused: 0,
            delivered: 4,
            failed: 0,
            attempts: 5,
            outcomes: { delivered: 4, timeout: 1 },
          },
          latency: { first_attempt: [4, 0, 0], settled: [3, 1, 0] },
          credits: { held: 12, earned: 48, released: 0, refunded: 12 },
          jobs: [{ provider: "ark", completed: 4, failures: { moderation: 1 }, times: [1, 2, 1] }],
        },
      ],
    }),
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;
