import { requireAcceptable } from "./callback-url.ts";
import { taskAnswer } from "../http/answer.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { RedeliverOrder } from "../tasks/task-schemas.ts";
import { accepted, taskClient } from "../tasks/task-client.ts";

/** Orders one to three more attempts of the callback of a task, to the URL of the callback or to another one. */
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
    const { attempts, callback_url: callbackUrl } = body;
    // The task's object knows whether the task has an account, and checks the URL again.
    requireAcceptable(callbackUrl, runtime, origin, true);
    const event = { type: "redeliver", attempts, callbackUrl, idempotencyKey } as const;
    return accepted(await taskClient(env, id).apply(event, caller));
  },
);

export const redeliverTaskRoute = routeOf(
  { method: "POST", path: "/v1/tasks/{id}/redeliver" },
  redeliverTask,
  ({ isNew, task }) => taskAnswer(task, 202, isNew ? {} : { "Idempotent-Replayed": "true" }),
);
