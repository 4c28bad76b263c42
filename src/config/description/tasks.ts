import { MAX_CALLBACK_TIMEOUT_MS, MAX_RETENTION_MS } from "../../core/policy.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { type Descriptions, FLAG } from "./description.ts";

/** Descriptions of the variables that decide when a task is called back, ends and is erased. */
export const TASK_VARIABLES = {
  CALLBACK_SCHEDULE_S: {
    fallback: "0,180,600",
    values: { min: 0, max: 86_400, unit: "s", maxCount: 10 },
    meaning:
      "wait before each attempt, counted from the end of the previous one. The first attempt of a series that a crash interrupts is followed after 5 s instead, and takes no wait",
  },
  CALLBACK_TIMEOUT_S: {
    fallback: "10",
    values: { min: 1, max: MAX_CALLBACK_TIMEOUT_MS / SECOND_MS, unit: "s" },
    meaning: "time limit of a whole attempt",
  },
  RETENTION_DAYS: {
    fallback: "28",
    values: { min: 1, max: MAX_RETENTION_MS / DAY_MS, unit: "days" },
    meaning: "how long a finished task is kept after its last change",
  },
  TASK_DEADLINE_HOURS: {
    fallback: "72",
    values: { min: 1, max: 8760, unit: "hours" },
    meaning: "when an open task fails, unless its `deadline_at` says otherwise",
  },
  MAX_BODY_KB: {
    fallback: "256",
    values: { min: 1, max: 400, unit: "KB" },
    meaning: "largest request body; [storage.md](storage.md) limits what is stored of it",
  },
  ERROR_TEXT: {
    fallback: "upstream",
    values: ["upstream", "generic"],
    meaning: "`generic` hides the upstream's own error text from clients",
  },
  SETTLEMENT_URL: {
    fallback: null,
    values: "URL",
    meaning:
      "refunds go to your own billing instead of the relay's ledger: a `POST {task_id, account, credits, reason}` with `webhook-id: refund_<task id>`, signed with the `settlement` secret of `GET /v1/signing-secrets` and repeated until it answers 2xx; the relay charges nothing then. Keep it set while tasks with credits are open, and never use a task id twice",
  },
  PAUSED: {
    ...FLAG,
    meaning:
      "stops callbacks and polls, and counts no attempts. Everything else goes on, deadlines and test callbacks included. After the pause the tasks start spread over a quarter of its length, at most 30 minutes; `POST /v1/wake` starts them at once",
  },
  SANDBOX: {
    ...FLAG,
    meaning: "enables the provider `sandbox`, which needs no upstream",
  },
  LISTEN: {
    ...FLAG,
    meaning:
      "accounts may [listen](listen.md): `callback_url` may be `listen:` for a task with an account, whose callbacks then go over a WebSocket to a receiver without a public address",
  },
} as const satisfies Descriptions;
