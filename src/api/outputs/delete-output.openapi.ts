import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";

export const deleteOutputDescription = {
  audience: "client",
  summary: "Delete an output",
  details:
    "Its link opens nothing any more, and the relay's copy is deleted; the upstream's own link is not. The task stays as it is. An output that keeps the upstream's own link cannot be deleted.",
  answers: { 204: emptyAnswer("deleted") },
  problems: ["unknown_task", "not_found", "task_open"],
} as const satisfies RouteDescription;
