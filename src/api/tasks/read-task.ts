import * as z from "zod/mini";
import type { Reader } from "../../core/views/reader.ts";
import type { TaskReply } from "../../task-object/reply.ts";
import { readerOf } from "../../task-object/caller.ts";
import { taskAnswer } from "../http/answer.ts";
import { unknownTask } from "../http/problem.ts";
import { queryRoute } from "../http/route.ts";
import { taskClient } from "./task-client.ts";
import { pollUntil, Wait, waitMsOf } from "./wait.ts";

const RETRY_AFTER_S = "5";

export const readTask = queryRoute(
  {
    id: "readTask",
    method: "GET",
    path: "/v1/tasks/{id}",
    access: "read",
  },
  z.strictObject({ wait: Wait }),
  async ({ request, query, env, params: { id }, caller }) => {
    const reader = readerOf(caller);
    const ifNoneMatch = request.headers.get("If-None-Match");
    const task = await pollUntil(
      () => taskClient(env, id).read(caller),
      (reply) =>
        ifNoneMatch === null ? reply.isTerminal : !matchesEtag(reply, reader, ifNoneMatch),
      waitMsOf(query.wait, request.headers),
    );
    if (task === null) throw unknownTask();
    const headers = {
      ETag: etagOf(task, reader),
      "Cache-Control": "private, no-cache",
      Vary: "Authorization",
      ...(task.isTerminal ? {} : { "Retry-After": RETRY_AFTER_S }),
    };
    if (ifNoneMatch !== null && matchesEtag(task, reader, ifNoneMatch)) {
      return new Response(null, { status: 304, headers });
    }
    return taskAnswer(task, 200, headers);
  },
);

/** Returns the task's ETag, which changes with the version and, while the task is open, with the progress. */
function etagOf({ version, progress }: TaskReply, reader: Reader): string {
  return progress === undefined ? `"${version}-${reader}"` : `"${version}.${progress}-${reader}"`;
}

/**
 * Tells whether the header `If-None-Match` contains the task's ETag, by weak comparison (RFC 9110 §13.1.2),
 * so that the answer is 304.
 */
function matchesEtag(task: TaskReply, reader: Reader, ifNoneMatch: string): boolean {
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etagOf(task, reader));
}
