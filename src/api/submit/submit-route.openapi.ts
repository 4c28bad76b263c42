import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { OPEN_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

export const submitJobDescription = {
  audience: "client",
  summary: "Submit a job to an upstream through the relay, once",
  details:
    "The call is the upstream's own: its path, query, content type and body, and the relay's key in the header of the upstream's key. The relay registers the task, charges its price, puts its hook URL into the call, sends it once with the connection's own key (or, with `Relay-Key`, with that of the caller), stores the answer, and passes it on; an answer that is the result itself, such as a picture, is passed on while it arrives, and read to its end also when the client hangs up. The answer of a refusal is passed on too; the task is then erased and its price returned. A call that is repeated under its `Idempotency-Key` gets the stored answer as long as the task lives. An account whose call was refused because of the operator's key or balance at the upstream gets 503 in the upstream's own form, with `Retry-After` and `x-should-retry: false`. Accounts submit what `OFFERS` lists. A call that cancels a job by `POST`, such as `/v1/predictions/{id}/cancel`, is answered as `DELETE` is. A call that uploads a file for later jobs, such as `/v1/files`, is passed on as it comes, with at most 100 MB and its `Content-Length`: for operators, and for accounts where an offer has `uploads`; it makes no task and costs nothing. With `Prefer: respond-async` the relay stores the call, answers 202 with the task, and makes the call itself, once: it may take `ASYNC_TIMEOUT_S`, and a form (multipart) may have `MAX_ASYNC_MB`. A refusal of the upstream then fails the task. Paths that are answered with the result itself need the header, or accept it.",
  request: {
    headers: [
      "Idempotency-Key",
      "Prefer",
      "Relay-Callback-Url",
      "Relay-Callback-Schedule",
      "Relay-Callback-Events",
      "Relay-Metadata",
      "Relay-Start-By",
      "Relay-Key",
      "Relay-Task-Id",
      "Relay-Deadline-At",
      "Relay-Account",
      "Relay-Credits",
      "Relay-Price",
    ],
    example: {
      model: "doubao-seedance-2-0-260128",
      content: [{ type: "text", text: "a fox" }],
    },
    passedBody: "Body of the upstream's own call: JSON, or multipart where the upstream takes it.",
  },
  answers: {
    202: jsonAnswer("the task of a call with `Prefer: respond-async`", Task, OPEN_TASK, {
      Location: "always",
      "Preference-Applied": "always",
      "Relay-Task-Id": "always",
      "Relay-Status-Url": "sometimes",
      "Retry-After": "sometimes",
      "Idempotent-Replayed": "sometimes",
    }),
  },
  passedAnswer: {
    description: "Answer of the upstream, with its status and body.",
    example: { id: "cgt-20261121120000-abcde" },
  },
  problems: [
    "unknown_endpoint",
    "prefer_required",
    "not_found",
    "invalid_json",
    "body_timeout",
    "length_required",
    "not_offered",
    "payload_too_large",
    "insufficient_credits",
    "monthly_limit",
    "task_exists",
    "submission_running",
    "submit_unknown",
    "output_needs_store",
    "idempotency_key_reused",
    "connection_busy",
    "queue_full",
  ],
} as const satisfies RouteDescription;
