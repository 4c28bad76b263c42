import * as z from "zod/mini";
import type { RouteDescription } from "../http/route.openapi.ts";
import { AnyObject } from "../shapes/described.ts";

export const receiveHookDescription = {
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
    "body_timeout",
    "payload_too_large",
  ],
} as const satisfies RouteDescription;
