import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { OPEN_TASK, TASK_ID } from "../shapes/task-shape.openapi.ts";
import { RegisteredTask } from "../shapes/task-shape.ts";

const REGISTRATION = {
  model: OPEN_TASK.model,
  callback_url: OPEN_TASK.callback.url,
  provider: "fal",
  account: "acme",
  credits: 12,
  metadata: { order: "4711" },
};

const REGISTERED_TASK = {
  ...OPEN_TASK,
  provider: "fal",
  hook_url: `https://relay.example.com/hooks/fal/${TASK_ID}/3q2-7w`,
  hook_parameter: "fal_webhook",
  status_url: `https://relay.example.com/v1/tasks/${TASK_ID}?token=st_${OPEN_TASK.created_at}_${OPEN_TASK.created_at + 172_800}_${OPEN_TASK.created_at}012_3q2-7w`,
};

export const registerTaskDescription = {
  audience: "client",
  summary: "Register a task before it is submitted upstream, and charge its price",
  details:
    "Repeating the same registration changes nothing. Without `id`, an `Idempotency-Key` derives the id, so that a repeated registration finds its task. With `provider` the answer has the `hook_url` for the provider, and in `hook_parameter` the field of its submit call that takes it. A provider with hooks needs the variable `PUBLIC_URL`: without it the registration is refused with `not_configured` before anything is stored, unless it has come over HTTPS from Cloudflare or was sent to this machine.",
  request: {
    headers: ["Idempotency-Key"],
    example: REGISTRATION,
    fields: {
      id: "Id of the task, a UUID; made by the relay when it is absent.",
      model: "Name of the model, which the callback repeats.",
      callback_url:
        "URL that gets the callback: https, and no private address; or `endpoint:NAME`, an endpoint of the account or, without an account, of the relay. Without it, the one named `default` gets it, if there is one.",
      callback_schedule_s:
        "Waits before the attempts of the callback, each from the end of the attempt before, or `day` for 0, 5, 300, 1,800, 7,200, 18,000, 36,000 and 36,000. Together at most RETENTION_DAYS. CALLBACK_SCHEDULE_S by default.",
      callback_events:
        "Events of which the receiver of the callback is told, of `completed`, `failed` and `progress`. `completed` and `failed` by default; `progress` adds `task.processing` while the job runs.",
      account: "Account that owns the task and is charged.",
      provider: "Connection that does the work, for a hook URL and for polls.",
      parameters: "Parameters of the job. The relay only stores them.",
      metadata: "Labels of your own, at most 4 KB, which reading the task returns.",
      deadline_at:
        "When the task fails unless it has ended, in Unix seconds; by default after TASK_DEADLINE_HOURS.",
      credits: "Price in whole credits, refunded when the task fails. Needs `account`.",
      price:
        'The same as `{"credits": 60}`, or a price by usage: `hold` is charged, and what the completed task costs less is given back. It costs `per.credits` for `per.units` of the number `per.usage` of the job\'s usage, or of `per.field` of the output metadata, at least `min`. `per.credits` may have a number for each `resolution`. In place of `credits`.',
    },
  },
  answers: {
    201: jsonAnswer("registered", RegisteredTask, REGISTERED_TASK, { Location: "always" }),
    200: jsonAnswer(
      "the same registration again; nothing changed",
      RegisteredTask,
      REGISTERED_TASK,
      { "Idempotent-Replayed": "sometimes" },
    ),
  },
  problems: [
    "unknown_endpoint",
    "task_exists",
    "idempotency_key_reused",
    "insufficient_credits",
    "monthly_limit",
    "not_found",
  ],
} as const satisfies RouteDescription;
