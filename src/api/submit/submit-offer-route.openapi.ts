import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { OPEN_TASK } from "../shapes/task-shape.openapi.ts";
import { Task } from "../shapes/task-shape.ts";

export const submitOfferDescription = {
  audience: "client",
  summary: "Submit a job by an offer, once",
  details:
    "For offers with a body: the request has the arguments that `GET /v1/offers/{name}` describes in `body_schema`, and the relay makes the upstream's call. The checks, the price and the headers are those of the upstream's own call (below). The answer is the task; the upstream's answer is passed on only when it refuses the job, and then the task is erased and its price returned. An offer for other accounts is 404, like one that does not exist.",
  request: {
    headers: [
      "Idempotency-Key",
      "Prefer",
      "Relay-Callback-Url",
      "Relay-Metadata",
      "Relay-Start-By",
      "Relay-Task-Id",
      "Relay-Deadline-At",
      "Relay-Account",
      "Relay-Credits",
      "Relay-Price",
    ],
    example: { prompt: "a fox" },
    passedBody: "The arguments of the job, as the offer describes them.",
  },
  answers: {
    202: jsonAnswer("the task of the job", Task, OPEN_TASK, {
      Location: "always",
      "Preference-Applied": "sometimes",
      "Relay-Task-Id": "always",
      "Relay-Status-Url": "sometimes",
      "Retry-After": "sometimes",
      "Idempotent-Replayed": "sometimes",
    }),
  },
  passedAnswer: {
    description: "Answer of the upstream, with its status and body, when it refuses the job.",
    example: { error: { message: "the prompt is refused" } },
  },
  problems: [
    "unknown_endpoint",
    "not_found",
    "invalid_json",
    "body_timeout",
    "payload_too_large",
    "insufficient_credits",
    "monthly_limit",
    "submission_running",
    "submit_unknown",
    "output_needs_store",
    "idempotency_key_reused",
    "connection_busy",
    "queue_full",
  ],
} as const satisfies RouteDescription;
