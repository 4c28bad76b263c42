import * as z from "zod/mini";
import type { TaskReader } from "../../core/views/reader.ts";
import type { TaskReply } from "../../task-object/reply.ts";
import { stateOf, taskAnswer } from "../http/answer.ts";
import { unknownTask } from "../http/problem.ts";
import { readingRoute, StatusToken } from "./reading-route.ts";
import { pollUntil, Wait, waitMsOf } from "./wait.ts";

const RETRY_AFTER_S = "5";

export const readTask = readingRoute(
  { id: "readTask", path: "/v1/tasks/{id}" },
  z.strictObject({ wait: Wait, token: StatusToken }),
  async ({ request, query, reader, read }) => {
    const ifNoneMatch = request.headers.get("If-None-Match");
    const task = await pollUntil(
      read,
      (reply) =>
        ifNoneMatch === null ? reply.isTerminal : !matchesEtag(reply, reader, ifNoneMatch),
      waitMsOf(query.wait, request.headers),
    );
    if (task === null) throw unknownTask();
    const headers = {
      ETag: etagOf(task, reader),
      "Cache-Control": "private, no-cache",
      // A browser that opens a status link gets a page of the console instead.
      Vary: reader === "link" ? "Authorization, Accept" : "Authorization",
      ...(task.isTerminal ? {} : { "Retry-After": RETRY_AFTER_S }),
    };
    if (ifNoneMatch !== null && matchesEtag(task, reader, ifNoneMatch)) {
      return new Response(null, { status: 304, headers });
    }
    return taskAnswer(task, 200, headers);
  },
);

/**
 * Returns the task's ETag: its state, and the kind of reader (operator, account or status link), because each
 * kind sees other fields.
 */
function etagOf(task: TaskReply, reader: TaskReader): string {
  return `"${stateOf(task)}-${reader}"`;
}

/**
 * Tells whether the header `If-None-Match` contains the task's ETag, by weak comparison (RFC 9110 §13.1.2),
 * so that the answer is 304.
 */
function matchesEtag(task: TaskReply, reader: TaskReader, ifNoneMatch: string): boolean {
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etagOf(task, reader));
}
