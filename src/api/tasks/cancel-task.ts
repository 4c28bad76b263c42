import { taskAnswer } from "../http/answer.ts";
import { NoFields } from "../http/fields.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { accepted, taskClient } from "./task-client.ts";

/** Cancels an open task: it fails with the code `canceled`. */
export const cancelTask = operation(
  { access: "operate", params: ["id"], query: NoQuery, body: NoFields },
  async ({ env, params: { id }, caller }) =>
    accepted(await taskClient(env, id).apply({ type: "cancel" }, caller)).task,
);

export const cancelTaskRoute = routeOf(
  { id: "cancelTask", method: "POST", path: "/v1/tasks/{id}/cancel" },
  cancelTask,
  (task) => taskAnswer(task, 200),
);
