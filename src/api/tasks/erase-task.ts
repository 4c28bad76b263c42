import { accepted } from "../answer.ts";
import { route } from "../route.ts";
import { taskClient } from "./task-client.ts";

export const eraseTask = route(
  {
    method: "DELETE",
    path: "/v1/tasks/{id}",
    who: "operator",
    summary: "Erase a settled task now",
    answers: { 204: "erased" },
    errors: ["unknown_task", "task_open", "series_running"],
  },
  async ({ env, id, viewer }) => {
    const applied = await taskClient(env, id).apply({ type: "erase" }, viewer);
    if (applied.kind === "erased") return new Response(null, { status: 204 });
    const { task } = accepted(applied);
    throw new Error(`the task was not erased: version ${task.version}`);
  },
);
