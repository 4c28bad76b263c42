import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { CALLBACK_COUNTS, Ratio, TaskCounts } from "../search/count-views.openapi.ts";
import { WINDOW_PARAMETERS } from "../search/filters.openapi.ts";
import { described, named, Time } from "../shapes/described.ts";
import { ACCOUNT } from "./accounts.openapi.ts";

const AccountStats = named(
  "AccountStats",
  z.strictObject({
    since: Time,
    until: Time,
    oldest_at: described(z.nullable(Time), "Creation time of the oldest counted task."),
    is_capped: described(
      z.boolean(),
      "Whether older tasks of the window may be missing: the count has reached its limit.",
    ),
    tasks: TaskCounts,
    callbacks: z.strictObject({ ...CALLBACK_COUNTS, success_rate: Ratio }),
  }),
  "Counts of the tasks of an account.",
);

export const readAccountStatsDescription = {
  audience: "client",
  summary: "Count the tasks of an account and their callbacks by status, in a window of time",
  details: "The window is that of the creation of the tasks, by default the last 7 days.",
  request: { query: WINDOW_PARAMETERS },
  answers: {
    200: jsonAnswer("the counts of at most 10,000 tasks, the newest", AccountStats, {
      since: ACCOUNT.created_at,
      until: ACCOUNT.created_at + 604_800,
      oldest_at: ACCOUNT.created_at + 60,
      is_capped: false,
      tasks: {
        total: 12,
        pending: 0,
        processing: 1,
        completed: 10,
        failed: 1,
        failures: { moderation: 1 },
      },
      callbacks: {
        waiting: 1,
        sending: 0,
        retrying: 0,
        paused: 0,
        delivered: 10,
        failed: 1,
        attempts: 13,
        success_rate: 0.9091,
      },
    }),
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;
