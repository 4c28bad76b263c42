import { taskAnswer } from "../http/answer.ts";
import { bodyRoute } from "../http/route.ts";
import { NoFields } from "../http/fields.ts";
import { accepted, taskClient } from "./task-client.ts";

export const cancelTask = bodyRoute(
  {
    id: "cancelTask",
    method: "POST",
    path: "/v1/tasks/{id}/cancel",
    access: "operate",
  },
  NoFields,
  async ({ env, params: { id }, caller }) => {
    const { task } = accepted(await taskClient(env, id).apply({ type: "cancel" }, caller));
    return taskAnswer(task, 200);
  },
);
