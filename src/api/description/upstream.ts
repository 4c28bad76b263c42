import type { RouteDescription } from "./description.ts";

/** Descriptions of the routes by which upstreams report results, and of the test callback. */
export const UPSTREAM_ROUTES = {
  reportEvent: {
    audience: "upstream",
    summary: "Report a task's progress or result",
    answers: {
      202: { description: "recorded" },
      200: { description: "the same event again; nothing changed" },
    },
    problems: ["unknown_task", "conflicting_result", "not_found"],
  },
  receiveHook: {
    audience: "upstream",
    summary: "Receive a provider's completion hook",
    answers: {
      200: {
        description: "ok, also for a hook that changes nothing; or the answer to a handshake",
      },
    },
    problems: ["unknown_task", "unauthenticated", "rate_limited", "unavailable"],
  },
  testCallback: {
    audience: "client",
    summary: "Send one sample callback and return its outcome",
    answers: { 200: { description: "the outcome of the attempt" } },
    problems: [],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
