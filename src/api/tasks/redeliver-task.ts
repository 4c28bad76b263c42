import { taskAnswer } from "../http/answer.ts";
import { requireAcceptable } from "../callback-url.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { bodyRoute } from "../http/route.ts";
import { RedeliverOrder } from "./task-schemas.ts";
import { accepted, taskClient } from "./task-client.ts";

export const redeliverTask = bodyRoute(
  {
    id: "redeliverTask",
    method: "POST",
    path: "/v1/tasks/{id}/redeliver",
    access: "redeliver",
    rateLimit: "LIMIT_LISTS",
  },
  RedeliverOrder,
  async ({ request, env, runtime, caller, origin, params: { id }, body }) => {
    const idempotencyKey = idempotencyKeyOf(request.headers);
    const { attempts, callback_url: callbackUrl } = body;
    // The task's object knows whether the task has an account, and checks the URL again.
    requireAcceptable(callbackUrl, runtime, origin, true);
    const { isNew, task } = accepted(
      await taskClient(env, id).apply(
        { type: "redeliver", attempts, callbackUrl, idempotencyKey },
        caller,
      ),
    );
    return taskAnswer(task, 202, isNew ? {} : { "Idempotent-Replayed": "true" });
  },
);
