import { accepted, taskAnswer } from "./answer.ts";
import { requireAcceptable } from "./callback-url.ts";
import { idempotencyKeyOf, idOfKey } from "./idempotency-key.ts";
import { Problem } from "./problem.ts";
import { bodyRoute } from "./route.ts";
import { Registration } from "./schemas.ts";
import { taskClient } from "./task-client.ts";

export const registerTask = bodyRoute(
  {
    method: "POST",
    path: "/v1/tasks",
    who: "operator",
    summary: "Register a task before it is submitted upstream",
    answers: { 201: "registered", 200: "the same registration again" },
    errors: ["task_exists", "idempotency_key_reused"],
  },
  Registration,
  async ({ request, env, relay, role, origin, body }) => {
    const key = idempotencyKeyOf(request.headers);
    requireAcceptable(body.callback_url, relay, origin);
    const id = body.id ?? (key === null ? crypto.randomUUID() : await idOfKey(role, key));
    const registration = {
      callbackUrl: body.callback_url,
      parameters: body.parameters,
      metadata: body.metadata,
      deadlineAt: body.deadline_at === null ? null : body.deadline_at * 1000,
    };
    const { model, account } = body;
    const applied = await taskClient(env, id).apply(
      { type: "register", id, model, account, origin, registration },
      role,
    );
    if (applied.kind === "conflict" && body.id === null) throw keyReused(applied.task.json);
    const { isNew, task } = accepted(applied);
    if (isNew) return taskAnswer(task, 201, { Location: `/v1/tasks/${id}` });
    return taskAnswer(task, 200, key === null ? {} : { "Idempotent-Replayed": "true" });
  },
);

function keyReused(taskJson: string): Problem {
  const detail = "The task that was registered under this key is in the member task.";
  return new Problem("idempotency_key_reused", { detail, taskJson });
}
