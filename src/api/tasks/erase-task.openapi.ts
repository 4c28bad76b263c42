import { emptyAnswer, type RouteDescription } from "../http/route.openapi.ts";

export const eraseTaskDescription = {
  audience: "client",
  summary: "Erase a settled task",
  answers: { 204: emptyAnswer("erased") },
  problems: ["unknown_task", "task_open", "series_running"],
} as const satisfies RouteDescription;
