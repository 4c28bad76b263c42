import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count, NextCursor } from "../shapes/described.ts";

export const wakeTasksDescription = {
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
} as const satisfies RouteDescription;
