import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { OPEN_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

export const attachUpstreamDescription = {
  audience: "client",
  summary: "Attach the upstream job that the submit call returned",
  request: {
    example: {
      provider: "fal",
      id: "764cabcf-b745-4b3e-ae38-1200304cf45b",
      endpoint: "fal-ai/veo3",
    },
    fields: {
      provider: "Connection that does the work.",
      id: "Id of the job, as the provider's submit call returned it.",
      endpoint: "Endpoint of the job, for providers whose jobs are polled by it.",
    },
  },
  answers: {
    200: jsonAnswer("the task; hooks that arrived earlier are applied now", Task, OPEN_TASK),
  },
  problems: ["unknown_task", "task_settled", "submission_running"],
} as const satisfies RouteDescription;
