import { accepted } from "./answer.ts";
import { operatorRoute } from "./route.ts";
import { taskClient } from "./task-client.ts";

export const eraseTask = operatorRoute(
  {
    method: "DELETE",
    path: "/v1/tasks/{id}",
    summary: "Erase a settled task now",
    answers: { 204: "erased" },
    errors: ["unknown_task", "task_open", "series_running"],
  },
  async ({ env, id, role }) => {
    const applied = await taskClient(env, id).erase(role);
    if (applied.kind !== "erased") accepted(applied);
    return new Response(null, { status: 204 });
  },
);
