import * as z from "zod/mini";
import type { TaskReader } from "../../core/views/reader.ts";
import { STATUS_TOKEN_PREFIX } from "../../security/status-token.ts";
import { readerOf } from "../../task-object/caller.ts";
import type { TaskReply } from "../../task-object/reply.ts";
import { requireValidKey } from "../http/auth.ts";
import { type ProtectedRoute, queryRoute, type RouteRequest } from "../http/route.ts";
import { answerToken } from "./answer-token.ts";
import { taskClient } from "./task-client.ts";

/** Schema of the query parameter `token`, the status token of a task, which answer-token.ts checks. */
export const StatusToken = z.optional(z.string());

/** A request to read one task, whose sender has shown an API key or the status token of the task. */
export interface Reading<Query> {
  readonly request: Request;
  readonly query: Query;
  readonly reader: TaskReader;
  /**
   * Reads the task, with the fields that this reader may see; null when there is no task that the reader may
   * read. It may be called for as long as the answer takes: each call checks that the credential is still
   * valid.
   * @throws Problem `unauthenticated` when the API key was revoked, or the status token has expired.
   */
  readonly read: () => Promise<TaskReply | null>;
}

export type AnswerReader<Query> = (reading: Reading<Query>) => Promise<Response>;

/** Declares a route that reads one task, with a key or with the status token of the task. */
export function readingRoute<Id extends string, Q extends z.ZodMiniObject>(
  info: { readonly id: Id; readonly path: "/v1/tasks/{id}" | "/v1/tasks/{id}/events" },
  query: Q,
  answer: AnswerReader<z.output<Q>>,
): ProtectedRoute<Id> {
  const byKey = queryRoute(
    { ...info, method: "GET", access: "read" },
    query,
    async ({ request, query: asked, env, params: { id }, caller }) => {
      let isFirst = true;
      const read = async () => {
        // The key was looked up just before the first read.
        if (!isFirst) await requireValidKey(caller, request.headers, env);
        isFirst = false;
        return taskClient(env, id).read(caller);
      };
      return answer({ request, query: asked, reader: readerOf(caller), read });
    },
  );
  return {
    ...byKey,
    takesStatusToken: true,
    handle: async (call) =>
      showsStatusToken(call) ? answerToken(call, { query, answer, byKey }) : byKey.handle(call),
  };
}

function showsStatusToken({ url, request: { headers } }: RouteRequest<unknown>): boolean {
  const start = `bearer ${STATUS_TOKEN_PREFIX}`;
  return (
    url.searchParams.has("token") ||
    headers.get("Authorization")?.toLowerCase().startsWith(start) === true
  );
}
