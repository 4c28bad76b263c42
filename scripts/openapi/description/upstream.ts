import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "./description.ts";
import { COMPLETED_CALLBACK, COMPLETED_TASK, SENT_REQUEST } from "./examples.ts";
import { AnyObject } from "../../../src/api/shapes/described.ts";
import { TestOutcome } from "../../../src/api/shapes/callback-shape.ts";
import { Task } from "../../../src/api/shapes/task-shape.ts";

/** Descriptions of the routes by which upstreams report results, and of the test callback. */
export const UPSTREAM_ROUTES = {
  reportEvent: {
    audience: "upstream",
    summary: "Report a task's progress or result",
    details:
      "The body is the task object: `processing`, `completed` with `output.urls`, or `failed` with `error`. An unknown task is created when `model` is given; otherwise the registration wins. A result that differs from the first one is refused with 409. Send an operator key, or sign the body with the events secret.",
    request: {
      headers: ["webhook-id", "webhook-timestamp"],
      example: COMPLETED_CALLBACK,
      fields: {
        id: "Id of the task.",
        status: "State of the task.",
        model: "Name of the model. Creates the task when it is unknown.",
        created_at: "When the task was created, in Unix seconds.",
        callback_url: "URL that gets the callback.",
        account: "Account that owns the task.",
        completed_at: "When the job ended, in Unix seconds.",
        output: "Result of a completed task.",
        error: "Reason of a failed task.",
        usage:
          "What the job has consumed or cost, at most 1 KB of numbers under names of your own. A price by usage needs it.",
      },
    },
    answers: {
      202: jsonAnswer("recorded", Task, COMPLETED_TASK),
      200: jsonAnswer("the same event again; nothing changed", Task, COMPLETED_TASK),
    },
    problems: ["unknown_task", "conflicting_result", "not_found"],
  },
  receiveHook: {
    audience: "upstream",
    summary: "Receive a provider's completion hook",
    details:
      "The body is the provider's own. The relay makes the URL, whose token proves the sender; signatures of providers are verified too. A query that the provider adds is ignored.",
    answers: {
      200: {
        description: "ok, also for a hook that changes nothing; or the answer to a handshake",
        content: {
          "text/plain;charset=UTF-8": { schema: z.literal("ok"), example: "ok" },
          "application/json": { schema: AnyObject, example: { challenge: "3q2-7w" } },
        },
        headers: {},
      },
    },
    problems: [
      "unknown_task",
      "unauthenticated",
      "rate_limited",
      "unavailable",
      "stored_by_earlier_build",
      "not_configured",
      "invalid_json",
      "payload_too_large",
    ],
  },
  testCallback: {
    audience: "client",
    summary: "Send one sample callback and return its outcome and its request",
    request: {
      example: { callback_url: "https://client.example.com/hook", status: "completed" },
      fields: {
        callback_url: "URL that gets the sample.",
        status: "Status of the sample task, `completed` by default.",
      },
    },
    answers: {
      200: jsonAnswer("the outcome of the attempt", TestOutcome, {
        outcome: "delivered",
        status_code: 204,
        duration_ms: 84,
        request: SENT_REQUEST,
      }),
    },
    problems: [],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
