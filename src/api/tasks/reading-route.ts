import * as z from "zod/mini";
import { STATUS_TOKEN_PREFIX } from "../../security/status-token.ts";
import type { ProtectedRoute, RouteRequest } from "../http/route.ts";
import { answerToken } from "./status-token-reading.ts";
import type { AnswerLink } from "./reading.ts";

/** Schema of the query parameter `token`, the status token of a task, which status-token-reading.ts checks. */
export const StatusToken = z.optional(z.string());

/**
 * Lets a route that reads one task take the status token of the task too.
 * @param byKey answers requests with a key.
 * @param answer answers requests with a valid token.
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
