import { accepted, taskAnswer } from "../answer.ts";
import { requireAcceptable } from "../callback-url.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { bodyRoute } from "../route.ts";
import { RedeliverOrder } from "../schemas.ts";
import { taskClient } from "./task-client.ts";

export const redeliverTask = bodyRoute(
  {
    method: "POST",
    path: "/v1/tasks/{id}/redeliver",
    who: "owner",
    summary: "Send a settled callback again, optionally to a repaired URL",
    answers: { 202: "a new series has begun, or had begun under this Idempotency-Key" },
    errors: ["unknown_task", "task_open", "series_running", "no_callback"],
  },
  RedeliverOrder,
  async ({ request, env, relay, viewer, origin, id, body }) => {
    const idempotencyKey = idempotencyKeyOf(request.headers);
    const { attempts, callback_url: callbackUrl } = body;
    requireAcceptable(callbackUrl, relay, origin);
    const { isNew, task } = accepted(
      await taskClient(env, id).apply(
        { type: "redeliver", attempts, callbackUrl, idempotencyKey },
        viewer,
      ),
    );
    return taskAnswer(task, 202, isNew ? {} : { "Idempotent-Replayed": "true" });
  },
);
