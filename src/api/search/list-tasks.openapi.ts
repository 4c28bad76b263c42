import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { pageOf } from "../shapes/described.ts";
import { COMPLETED_TASK, TASK_ID } from "../shapes/task-shape.openapi.ts";
import { ListedTask, TaskCount } from "../shapes/task-shape.ts";
import { LIST_PARAMETERS } from "./filters.openapi.ts";

const LISTED_TASK = {
  id: TASK_ID,
  model: COMPLETED_TASK.model,
  created_at: COMPLETED_TASK.created_at,
  status: "completed" as const,
  completed_at: COMPLETED_TASK.completed_at,
  finished_at: COMPLETED_TASK.finished_at,
  settled_at: COMPLETED_TASK.finished_at,
  account: "acme",
  credits: { amount: 60, state: "charged" as const },
  callback: {
    status: "delivered" as const,
    host: "client.example.com",
    attempts: 1,
    last_outcome: "delivered",
    last_status_code: 204,
  },
};

export const listTasksDescription = {
  audience: "client",
  summary: "List tasks from the index, newest first",
  details:
    "The index is late: an open task is listed from `INDEX_DELAY_S` (30 seconds) after its creation on, or when it ends. `GET /v1/tasks/{id}` is not.",
  request: {
    query: {
      ...LIST_PARAMETERS,
      limit: limit(200, 50),
      count: {
        description: "`true` only counts: the answer is `{count, is_capped}`.",
        example: false,
      },
    },
  },
  answers: {
    200: jsonAnswer(
      "one page; it may be short; next_cursor of the last one is null",
      z.union([pageOf(ListedTask), TaskCount]),
      { data: [LISTED_TASK], next_cursor: null },
      { Link: "sometimes" },
    ),
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;
