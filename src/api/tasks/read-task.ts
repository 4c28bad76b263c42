import type { Role } from "../../core/views/task-view.ts";
import type { TaskReply } from "../../task/reply.ts";
import { roleOf } from "../../task/caller.ts";
import { taskAnswer } from "../http/answer.ts";
import { unknownTask } from "../http/problem.ts";
import { route } from "../http/route.ts";
import { taskClient } from "./task-client.ts";
import { askUntil, waitMsOf } from "./wait.ts";

const POLL_AGAIN_S = "5";

export const readTask = route(
  {
    method: "GET",
    path: "/v1/tasks/{id}",
    access: "owner",
    summary: "Read a task; ?wait=N or Prefer: wait=N holds the answer until it is terminal",
    answers: { 200: "the task", 304: "unchanged since If-None-Match" },
    errors: ["unknown_task"],
  },
  async ({ request, url, env, id, caller }) => {
    const role = roleOf(caller);
    const known = request.headers.get("If-None-Match");
    const task = await askUntil(
      () => taskClient(env, id).read(caller),
      (reply) => (known === null ? reply.isTerminal : !isKnown(reply, role, known)),
      waitMsOf(url.searchParams, request.headers),
    );
    if (task === null) throw unknownTask();
    const headers = {
      ETag: etagOf(task, role),
      "Cache-Control": "private, no-cache",
      Vary: "Authorization",
      ...(task.isTerminal ? {} : { "Retry-After": POLL_AGAIN_S }),
    };
    if (known !== null && isKnown(task, role, known)) {
      return new Response(null, { status: 304, headers });
    }
    return taskAnswer(task, 200, headers);
  },
);

function etagOf(task: TaskReply, role: Role): string {
  return `"${task.version}-${role}"`;
}

/** Weak comparison (RFC 9110 §13.1.2). */
function isKnown(task: TaskReply, role: Role, ifNoneMatch: string): boolean {
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etagOf(task, role));
}
