import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { COMPLETED_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

export const redeliverTaskDescription = {
  audience: "client",
  summary: "Redeliver a settled callback, optionally to a corrected URL or an endpoint",
  details:
    "While the relay or the host of the callback is paused, an order for a callback whose next attempt waits starts no further series: that attempt is sent after the pause, to the new URL if one is given, at once if only the host of the old one is paused; `callback.paused` or the status `paused` says so. A task remembers the last eight keys of the operator and of its owner: under one of them nothing is sent again, and another receiver than that of its order is refused with 422.",
  request: {
    headers: ["Idempotency-Key"],
    example: { attempts: 3, callback_url: "https://client.example.com/new-hook" },
    fields: {
      attempts: "Number of attempts, 1 by default.",
      callback_url: "URL that gets the callback from now on.",
      endpoint:
        "Name of the endpoint that gets the callback from now on, as it is now: of the account of the task or, without an account, of the relay. Its events do not matter.",
    },
  },
  answers: {
    202: jsonAnswer(
      "a new series has started, or had started earlier under this Idempotency-Key",
      Task,
      COMPLETED_TASK,
      { "Idempotent-Replayed": "sometimes" },
    ),
  },
  problems: [
    "unknown_endpoint",
    "unknown_task",
    "task_open",
    "series_running",
    "no_callback",
    "idempotency_key_reused",
  ],
} as const satisfies RouteDescription;
