import type { TaskReply } from "../../objects/task/reply.ts";
import { contentToClient } from "./client-stream.ts";

/** Returns an HTTP response whose body is a value as JSON. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonText(JSON.stringify(value), status, headers);
}

/**
 * Returns the HTTP response with a task. The JSON text of the task was written by its Durable Object, and is passed on
 * unchanged.
 */
export function taskAnswer(
  task: TaskReply,
  status: number,
  headers: Record<string, string> = {},
): Response {
  return jsonText(task.json, status, headers);
}

function jsonText(text: string, status: number, headers: Record<string, string>): Response {
  return new Response(contentToClient(text), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}
