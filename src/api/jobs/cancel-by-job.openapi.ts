import type { RouteDescription } from "../http/route.openapi.ts";

const DETAILS =
  "The task is canceled as by `POST /v1/tasks/{id}/cancel`, for the operator and for the account that has submitted the job through the relay: the upstream is asked, and the price returns once. The answer, which waits up to five seconds for that of the upstream, is the one that the upstream's own API documents. Errors of the relay about the job have the form of the upstream: 404 for a job that was not submitted here by the caller and for a path that cancels no job. With an upstream that answers an order with the job, the relay reads it after the order. A finished job is never deleted, also where the upstream deletes jobs by the same call.";
const PASSED = {
  description: "Answer to a cancellation, in the form of the upstream.",
  example: {},
} as const;

export const cancelJobDescription = {
  audience: "client",
  summary: "Cancel a job, as the SDK of an upstream with DELETE does",
  details: DETAILS,
  request: { headers: ["Relay-Key"] },
  answers: {},
  passedAnswer: PASSED,
  problems: ["not_found", "submission_running"],
} as const satisfies RouteDescription;

export const putCancelJobDescription = {
  ...cancelJobDescription,
  summary: "Cancel a job, as the SDK of fal does",
  passedAnswer: { ...PASSED, example: { status: "CANCELLATION_REQUESTED" } },
} as const satisfies RouteDescription;
