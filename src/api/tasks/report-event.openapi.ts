import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { COMPLETED_CALLBACK, COMPLETED_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

export const reportEventDescription = {
  audience: "upstream",
  summary: "Report a task's progress or result",
  details:
    "The body is the task object: `processing`, `completed` with `output.urls`, or `failed` with `error`. An unknown task is created when `model` is given; otherwise the registration wins. A result that differs from the first one is refused with 409. Send an operator key, or sign the body with the events secret.",
  request: {
    headers: ["webhook-id", "webhook-timestamp"],
    example: COMPLETED_CALLBACK,
    fields: {
      id: "Id of the task.",
      status: "State of the task.",
      model: "Name of the model. Creates the task when it is unknown.",
      created_at: "When the task was created, in Unix seconds.",
      callback_url: "URL that gets the callback, or `endpoint:NAME`, as of `POST /v1/tasks`.",
      callback_schedule_s:
        "Waits before the attempts of the callback, each from the end of the attempt before, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Together at most RETENTION_DAYS. CALLBACK_SCHEDULE_S by default.",
      callback_events:
        "Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. `completed` and `failed` by default; `progress` adds `task.processing` while the job runs.",
      account: "Account that owns the task.",
      completed_at: "When the job ended, in Unix seconds.",
      output: "Result of a completed task.",
      error: "Reason of a failed task.",
      usage:
        "What the job has consumed or cost, at most 1 KB of numbers under names of your own. A price by usage needs it.",
    },
  },
  answers: {
    202: jsonAnswer("recorded", Task, COMPLETED_TASK),
    200: jsonAnswer("the same event again; nothing changed", Task, COMPLETED_TASK),
  },
  problems: [
    "unknown_endpoint",
    "unknown_task",
    "conflicting_result",
    "submission_running",
    "not_found",
  ],
} as const satisfies RouteDescription;
