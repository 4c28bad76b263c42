import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { Count } from "../shapes/described.ts";
import { TASK_ID } from "../shapes/task-shape.openapi.ts";

export const reindexDescription = {
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
} as const satisfies RouteDescription;
