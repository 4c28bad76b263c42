import * as z from "zod/mini";
import type { AnswerReply, NoAnswerReason } from "../../objects/task/answer-reply.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { bytesOf } from "../../security/encoding.ts";
import { taskAnswer } from "../http/answer.ts";
import { contentToClient } from "../http/client-stream.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { countOutputRequest } from "../http/rate-limit.ts";
import { type CheckedRequest, queryRoute } from "../http/route.ts";
import { serveAnswer } from "../outputs/serve-answer.ts";
import { linkedBody } from "../submit/submitted.ts";
import { RETRY_AFTER_S, taskWhen } from "./read-task.ts";
import { readingBy } from "./reading.ts";
import { taskClient } from "./task-client.ts";
import { Wait, waitMsOf } from "./wait.ts";

/** Schema of the query parameters with which an answer of the upstream is read. */
const AnswerQuery = z.strictObject({ wait: Wait });

const DETAILS: Readonly<Record<NoAnswerReason, string>> = {
  not_submitted:
    "The relay did not submit the job of this task, so it has no answer of the upstream.",
  not_submitter:
    "The operator has submitted the job of this task, so only the operator reads the upstream's answer.",
  not_kept:
    "The upstream's answer is not kept: it was too large, or the result became known in another way. The task has the result.",
};

/**
 * Route of the upstream's answer to the call that has started the job of a task. While the task is open, the response is
 * 202 with the task.
 */
export const readAnswerRoute = queryRoute(
  { id: "readAnswer", method: "GET", path: "/v1/tasks/{id}/answer", access: "read" },
  AnswerQuery,
  async (call) => {
    const { caller, env, params, query, request } = call;
    const waitMs = waitMsOf(query.wait, request.headers.get("Prefer"));
    const { task } = await taskWhen({ waitMs, known: null }, readingBy(call));
    if (!task.isTerminal) return taskAnswer(task, 202, { "Retry-After": RETRY_AFTER_S });
    const reply = await taskClient(env, params.id).readAnswer(caller);
    if (reply === null) throw unknownTask();
    return await responseOf(reply, task, call);
  },
);

/** Returns the response with the upstream's answer. @throws Problem when there is none for the caller. */
async function responseOf(
  reply: AnswerReply,
  task: TaskReply,
  call: CheckedRequest<"id", unknown>,
): Promise<Response> {
  const { env, params, request, runtime } = call;
  switch (reply.kind) {
    case "none":
      throw new Problem("not_found", { detail: DETAILS[reply.reason] });
    case "failed":
      throw new Problem("task_failed", { detail: reply.message, taskJson: task.json });
    case "kept": {
      const { status, contentType, body } = reply.answer;
      const connection = runtime.config.connections.get(reply.connection ?? "");
      const bytes = bytesOf(body);
      const linked = connection === undefined ? bytes : linkedBody(bytes, connection, call);
      const headers: HeadersInit = contentType === null ? {} : { "Content-Type": contentType };
      return ofUpstream(new Response(contentToClient(linked), { status, headers }), params.id);
    }
    case "stored":
      await countOutputRequest(params.id, request.headers, env);
      return ofUpstream(await serveAnswer(params.id, reply, env), params.id);
  }
}

/**
 * Returns a response marked as one of the upstream. With the upstream's own 202 a client would take the task for open,
 * and ask again for ever.
 */
function ofUpstream({ body, status, headers }: Response, taskId: string): Response {
  const response = new Response(body, { status: status === 202 ? 200 : status, headers });
  response.headers.set("Relay-Task-Id", taskId);
  return response;
}
