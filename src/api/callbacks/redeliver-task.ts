import { type AskedEndpoint, endpointUrl } from "../../core/record/endpoint-copy.ts";
import type { Env } from "../../env.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { namedEndpoint } from "../endpoints/endpoint-client.ts";
import { requireAcceptable } from "./callback-url.ts";
import { taskAnswer } from "../http/answer.ts";
import { unknownTask } from "../http/problem.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { RedeliverOrder } from "../tasks/task-schemas.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";
import { taskIn } from "../tasks/task-json.ts";

/** Orders one to three more attempts of the callback of a task, to its present receiver, to another URL, or to an endpoint. */
export const redeliverTask = operation(
  "redeliverTask",
  {
    access: "redeliver",
    rateLimit: "LIMIT_LISTS",
    params: ["id"],
    query: NoQuery,
    body: RedeliverOrder,
    takesIdempotencyKey: true,
  },
  async ({ env, runtime, caller, origin, params: { id }, body, idempotencyKey }) => {
    const { attempts, callback_url: url, endpoint: name } = body;
    // The task's object knows whether the task has an account, and checks the URL again.
    requireAcceptable(url, runtime, origin, true);
    const callbackUrl = name === null ? url : endpointUrl(name);
    const endpoint = name === null ? {} : { endpoint: await endpointFor(id, name, env, caller) };
    const event = {
      type: "redeliver",
      attempts,
      callbackUrl,
      ...endpoint,
      idempotencyKey,
    } as const;
    return accepted(await taskClient(env, id).apply(event, caller));
  },
);

/**
 * Returns an endpoint of the account that owns a task or, for a task without an account, of the relay.
 * @throws Problem `unknown_task` when there is no task that the caller may read.
 */
async function endpointFor(
  id: string,
  name: string,
  env: Env,
  caller: Caller,
): Promise<AskedEndpoint> {
  const task = await taskClient(env, id).read(caller);
  if (task === null) throw unknownTask();
  return await namedEndpoint(name, taskIn(task).account ?? null, "/endpoint", env);
}

export const redeliverTaskRoute = routeOf(
  { method: "POST", path: "/v1/tasks/{id}/redeliver" },
  redeliverTask,
  ({ isNew, task }) => taskAnswer(task, 202, isNew ? {} : { "Idempotent-Replayed": "true" }),
);
