import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";

export const deleteOutputsDescription = {
  audience: "client",
  summary: "Delete the outputs of a task",
  details:
    "The relay's links to them open nothing any more, and its copies are deleted, also one that is being made; the upstream's own links are not. The task and its callback stay as they are, and `outputs` says what was deleted. A repetition changes nothing.",
  answers: { 204: emptyAnswer("deleted") },
  problems: ["unknown_task", "task_open"],
} as const satisfies RouteDescription;

export const deleteOutputDescription = {
  audience: "client",
  summary: "Delete an output",
  details:
    "As for all outputs of the task, but this one alone. An output that keeps the upstream's own link cannot be deleted.",
  answers: { 204: emptyAnswer("deleted") },
  problems: ["unknown_task", "not_found", "task_open"],
} as const satisfies RouteDescription;
