import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, described, NextCursor } from "../shapes/described.ts";
import { LIST_PARAMETERS } from "../search/filters.openapi.ts";

export const redeliverManyDescription = {
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
} as const satisfies RouteDescription;
