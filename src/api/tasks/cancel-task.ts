import { accepted, taskAnswer } from "../http/answer.ts";
import { bodyRoute } from "../http/route.ts";
import { NoFields } from "../schemas.ts";
import { taskClient } from "./task-client.ts";

export const cancelTask = bodyRoute(
  {
    method: "POST",
    path: "/v1/tasks/{id}/cancel",
    access: "operator",
    summary: "Give an open task up: it fails with the code canceled, and is refunded",
    answers: { 200: "the task, failed" },
    errors: ["unknown_task", "task_settled"],
  },
  NoFields,
  async ({ env, id, caller }) => {
    const { task } = accepted(await taskClient(env, id).apply({ type: "cancel" }, caller));
    return taskAnswer(task, 200);
  },
);
