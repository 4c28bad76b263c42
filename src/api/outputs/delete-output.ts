import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { invalidRequest } from "../http/problem.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";

/** Pattern of the number of an output, as the path of a request contains it. */
const NUMBER = /^[1-9]\d{0,3}$/;

/** Deletes one output of a task: its copy is deleted, and its link is refused from then on. */
const deleteOutput = operation(
  "deleteOutput",
  { access: "administer", params: ["id", "output"], query: NoQuery, body: NoBody },
  async ({ env, params: { id, output }, caller }) => {
    if (!NUMBER.test(output)) {
      const message = "must be the place of the output in output.urls, counted from 1";
      throw invalidRequest([{ path: "/output", message }]);
    }
    accepted(await taskClient(env, id).deleteOutput(Number(output), caller));
  },
);

export const deleteOutputRoute = routeOf(
  { method: "DELETE", path: "/v1/tasks/{id}/outputs/{output}" },
  deleteOutput,
  () => new Response(null, { status: 204 }),
);
