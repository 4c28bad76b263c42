import type { RouteDescription } from "./description.ts";

/** Descriptions of the routes that register, read, redeliver, cancel and erase tasks. */
export const TASK_ROUTES = {
  registerTask: {
    audience: "client",
    summary: "Register a task before it is submitted upstream, and charge its price",
    answers: {
      201: { description: "registered" },
      200: { description: "the same registration again; nothing changed" },
    },
    problems: ["task_exists", "idempotency_key_reused", "insufficient_credits", "not_found"],
  },
  attachUpstream: {
    audience: "client",
    summary: "Attach the upstream job that the submit call returned",
    answers: { 200: { description: "the task; hooks that arrived earlier are applied now" } },
    problems: ["unknown_task", "task_settled"],
  },
  listTasks: {
    audience: "client",
    summary: "List tasks from the index, newest first",
    answers: { 200: { description: "one page; it may be short, the last one has no next_cursor" } },
    problems: ["index_disabled"],
  },
  readTask: {
    audience: "client",
    summary: "Read a task; ?wait=N or Prefer: wait=N waits up to N seconds until it is terminal",
    answers: {
      200: { description: "the task" },
      304: { description: "unchanged: If-None-Match names the current version" },
    },
    problems: ["unknown_task"],
  },
  redeliverTask: {
    audience: "client",
    summary: "Send a settled callback again, optionally to a corrected URL",
    answers: {
      202: {
        description: "a new series has started, or had started earlier under this Idempotency-Key",
      },
    },
    problems: ["unknown_task", "task_open", "series_running", "no_callback"],
  },
  cancelTask: {
    audience: "client",
    summary: "Cancel an open task: it fails with code canceled and is refunded",
    answers: { 200: { description: "the failed task" } },
    problems: ["unknown_task", "task_settled"],
  },
  eraseTask: {
    audience: "client",
    summary: "Erase a settled task",
    answers: { 204: { description: "erased" } },
    problems: ["unknown_task", "task_open", "series_running"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
