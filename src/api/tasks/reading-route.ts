import * as z from "zod/mini";
import { STATUS_TOKEN_PREFIX } from "../../security/status-token.ts";
import type { ProtectedRoute, RouteRequest } from "../http/route.ts";
import { answerToken } from "./status-token-reading.ts";
import type { AnswerLink } from "./reading.ts";

/** Schema of the query parameter `token`, the status token of a task, which status-token-reading.ts checks. */
export const StatusToken = z.optional(z.string());

/**
 * Returns a copy of a route that reads one task. The copy also accepts the status token of the task.
 * @param byKey route that answers requests with an API key.
 * @param answer function that answers requests with a valid status token.
 */
export function alsoByLink<Id extends string>(
  byKey: ProtectedRoute<Id>,
  answer: AnswerLink,
): ProtectedRoute<Id> {
  return {
    ...byKey,
    takesStatusToken: true,
    crossOriginHeaders: "Authorization, If-None-Match, Last-Event-ID, Prefer",
    handle: async (call) => {
      if (!showsStatusToken(call)) return await byKey.handle(call);
      return await ((await answerToken(call, answer)) ?? byKey.handle(call));
    },
  };
}

function showsStatusToken({ url, request: { headers } }: RouteRequest<unknown>): boolean {
  const start = `bearer ${STATUS_TOKEN_PREFIX}`;
  return (
    (url.search !== "" && url.searchParams.has("token")) ||
    headers.get("Authorization")?.toLowerCase().startsWith(start) === true
  );
}
