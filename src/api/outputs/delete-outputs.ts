import type { Env } from "../../env.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { OUTPUT_NUMBER } from "../../security/output-link.ts";
import { unavailable } from "../http/object-call.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { invalidRequest } from "../http/problem.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";

/** Deletes all outputs of a task that have links of the relay: the copies are deleted, and then the links are refused. */
export const deleteOutputs = operation(
  "deleteOutputs",
  { access: "outputs", params: ["id"], query: NoQuery, body: NoBody },
  async ({ env, params: { id }, caller }) => await orderDeletion(env, id, null, caller),
);

/** Deletes one output of a task: its copy is deleted, and then its link is refused. */
const deleteOutput = operation(
  "deleteOutput",
  { access: "outputs", params: ["id", "output"], query: NoQuery, body: NoBody },
  async ({ env, params: { id, output }, caller }) => {
    if (!OUTPUT_NUMBER.test(output)) {
      const message = "must be the place of the output in output.urls, counted from 1";
      throw invalidRequest([{ path: "/output", message }]);
    }
    await orderDeletion(env, id, Number(output), caller);
  },
);

export const deleteOutputsRoute = routeOf(
  { method: "DELETE", path: "/v1/tasks/{id}/outputs" },
  deleteOutputs,
  () => new Response(null, { status: 204 }),
);

export const deleteOutputRoute = routeOf(
  { method: "DELETE", path: "/v1/tasks/{id}/outputs/{output}" },
  deleteOutput,
  () => new Response(null, { status: 204 }),
);

/**
 * Makes the task's object delete outputs, and waits until their copies are deleted.
 * @param number number of the output; null for all.
 * @throws Problem `unavailable` while copies may exist; the task's object goes on to delete them by itself.
 */
async function orderDeletion(
  env: Env,
  id: string,
  number: number | null,
  caller: Caller,
): Promise<void> {
  const applied = await taskClient(env, id).deleteOutputs(number, caller);
  if (applied === null) throw unavailable("The copies of the outputs are not deleted yet.");
  accepted(applied);
}
