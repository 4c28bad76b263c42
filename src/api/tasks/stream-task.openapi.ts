import * as z from "zod/mini";
import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { TASK_STATUS } from "../shapes/task-shape.openapi.ts";
import { LINKED, STATUS_TOKEN } from "./reading-route.openapi.ts";

export const streamTaskDescription = {
  audience: "client",
  summary: "Follow a task: server-sent events until it is settled",
  details:
    "Each event is named `task`; its `id` is the version of the task, followed by a period and the progress where that is known, and its `data` is what reading the task returns to the same reader. A stream lasts 15 minutes at most, then browsers connect again; once the reader has the state of the settled task, the answer is 204, which ends that. The status token of the task, as `token` or as bearer token, needs no key.",
  request: { headers: ["Last-Event-ID"], query: { token: STATUS_TOKEN } },
  answers: {
    200: {
      description: "the present state, unless Last-Event-ID names it, and each change",
      content: {
        "text/event-stream": {
          schema: z.string(),
          example: `retry: 2000\n\nevent: task\nid: 1767225661204\ndata: ${JSON.stringify(TASK_STATUS)}\n\n`,
        },
      },
      headers: LINKED,
    },
    204: emptyAnswer("the task is settled and Last-Event-ID names its state", LINKED),
  },
  problems: ["unknown_task"],
} as const satisfies RouteDescription;
