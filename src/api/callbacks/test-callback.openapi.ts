import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { SENT_REQUEST } from "../shapes/callback-shape.openapi.ts";
import { TestOutcome } from "../shapes/callback-shape.ts";

export const testCallbackDescription = {
  audience: "client",
  summary: "Send one sample callback and return its outcome and its request",
  request: {
    example: { callback_url: "https://client.example.com/hook", status: "completed" },
    fields: {
      callback_url: "URL that gets the sample.",
      endpoint:
        "Name of the endpoint that gets the sample, in place of `callback_url`: of the account or, for an operator, of the relay.",
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
  problems: ["unknown_endpoint", "host_paused"],
} as const satisfies RouteDescription;
