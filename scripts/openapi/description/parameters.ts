import type { Parameter } from "./description.ts";
import { TASK_ID } from "./examples.ts";

/** Descriptions of the parameters in paths, such as the task id, by name. */
export const PATH_PARAMETERS: Readonly<Record<string, Parameter>> = {
  id: {
    description: "Id of the task, a UUID of any version; upper and lower case mean the same.",
    example: TASK_ID,
  },
  number: { description: "Number of the attempt, from 1: `X-Attempt`.", example: "1" },
  output: {
    description: "Number of the output: its place in `output.urls`, from 1.",
    example: "1",
  },
  file: {
    description: "Token and extension, which only the relay can make. They prove the reader.",
    example: "1767830400_1767225600012_3q2-7w.mp4",
  },
  account: { description: "Id of the account: 1 to 64 of `A-Z a-z 0-9 _ -`.", example: "acme" },
  key: { description: "Id of the API key, as the list of keys has it.", example: "k_1" },
  host: {
    description: "Host of a `callback_url`; `*` for the hosts that an hour does not name.",
    example: "client.example.com",
  },
  provider: { description: "Name of the connection that the hook belongs to.", example: "fal" },
  connection: { description: "Name of the connection to the upstream.", example: "ark" },
  path: {
    description:
      "The upstream's own path below the base URL of the connection, with its slashes; a query behind it is passed on.",
    example: "contents/generations/tasks",
  },
  token: {
    description: "Token of the hook URL, which only the relay can make. It proves the sender.",
    example: "3q2-7w",
  },
};

/**
 * Parameter `token` of the routes that take a status token (the token in the status link of a task) in place
 * of a key.
 */
export const STATUS_TOKEN: Parameter = {
  description:
    "Status token of the task, from `status_url`. Not together with the header `Authorization`.",
  example: "st_1767225600_1767398400_1767225600012_3q2-7w",
};

const TIME_S = { min: 0, max: 99_999_999_999 };

/** Parameters of routes that count tasks: only the tasks created from `since` to `until` are counted. */
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
  outputs: {
    description: "Tasks with an output whose copy was given up, so that it is not kept.",
    example: "lost",
  },
  callback: { description: "Tasks whose callback has this status.", example: "failed" },
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

/** Describes the parameter `limit` of a list, the largest number of entries on a page. */
export function limit(max: number, fallback: number): Parameter {
  return {
    description: "Largest number of entries on the page.",
    integer: { min: 1, max, fallback },
  };
}
