import { emptyAnswer, jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { COMPLETED_TASK, TASK_STATUS } from "../shapes/task-shape.openapi.ts";
import { Task, TaskStatus } from "../shapes/task-shape.ts";
import { LINKED, STATUS_TOKEN } from "./reading-route.openapi.ts";

export const readTaskDescription = {
  audience: "client",
  summary: "Read a task; ?wait=N or Prefer: wait=N waits up to N seconds until it is terminal",
  details:
    "With `If-None-Match` the wait ends as soon as the task differs from that version, e.g. by its progress. The operator also sees why an open task waits (`tracking`), and what the job of a finished one consumed (`usage`). The status token of the task, as `token` or as bearer token, needs no key; the answer is then a `TaskStatus`, which pages of any site may read, and a browser that opens the link gets a page.",
  request: {
    headers: ["If-None-Match", "Prefer"],
    query: {
      wait: {
        description: "Seconds to wait for the result; more than 60 counts as 60.",
        integer: { min: 0 },
      },
      token: STATUS_TOKEN,
    },
  },
  answers: {
    200: {
      ...jsonAnswer("the task; to a status token a TaskStatus", Task, COMPLETED_TASK, {
        ...LINKED,
        ETag: "always",
        Vary: "always",
        "Retry-After": "sometimes",
      }),
      forStatusToken: { schema: TaskStatus, example: TASK_STATUS },
    },
    304: emptyAnswer("unchanged: If-None-Match names the current version", {
      ...LINKED,
      ETag: "always",
      Vary: "always",
      "Retry-After": "sometimes",
    }),
  },
  problems: ["unknown_task"],
} as const satisfies RouteDescription;
