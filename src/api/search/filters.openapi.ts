import type { Parameter } from "../http/route.openapi.ts";

const TIME_S = { min: 0, max: 99_999_999_999 };

/** Parameters of routes that count the tasks created in a time range, from `since` to `until`. */
export const WINDOW_PARAMETERS = {
  since: { description: "Begin of the window in Unix seconds.", integer: TIME_S },
  until: { description: "End of the window in Unix seconds.", integer: TIME_S },
} as const satisfies Readonly<Record<string, Parameter>>;

/** Descriptions of the query parameters that every list of tasks takes: its filters and the cursor. */
export const LIST_PARAMETERS = {
  status: { description: "Tasks of this status.", example: "failed" },
  category: {
    description: "Failed tasks with this category of the failure; `unknown`: with none.",
    example: "moderation",
  },
  submission: {
    description:
      "Tasks whose job the relay submitted, by the state of the submission; `unknown`: it may have started a job or not.",
    example: "unknown",
  },
  refusal: {
    description:
      "Tasks that have failed because the upstream refused their submission after its outcome was unknown or while its caller did not wait, by the class of the refusal. Only operators may ask.",
    example: "funds",
  },
  outputs: {
    description: "Tasks with an output whose copy was given up, so that it is not kept.",
    example: "lost",
  },
  callback: {
    description: "Tasks whose callback has this status; `open`: `sending`, `retrying` or `paused`.",
    example: "failed",
  },
  model: { description: "Tasks of this model.", example: "seedance-1-pro" },
  provider: { description: "Tasks of this connection. Only operators may ask.", example: "fal" },
  account: { description: "Tasks of this account. Only operators may ask.", example: "acme" },
  host: {
    description: "Tasks whose `callback_url` has this host.",
    example: "client.example.com",
  },
  outcome: { description: "Tasks with this outcome of the last attempt.", example: "rejected" },
  status_code: {
    description: "Tasks whose last attempt was answered with this HTTP status.",
    integer: { min: 100, max: 599 },
  },
  job: {
    description: "Task with this upstream job; needs `since`. Only operators may ask.",
    example: "cgt-1",
  },
  since: {
    description: "Tasks created at this time or later, in Unix seconds.",
    integer: TIME_S,
  },
  until: { description: "Tasks created before this time, in Unix seconds.", integer: TIME_S },
  cursor: { description: "`next_cursor` of the page before, with the same filters." },
} as const satisfies Readonly<Record<string, Parameter>>;
