import type { Applied, TaskReply } from "../../task/reply.ts";
import { problemOf } from "../tasks/task-client.ts";

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonText(JSON.stringify(value), status, headers);
}

/** An answer with a task in it, which the object has serialised already. */
export function taskAnswer(
  task: TaskReply,
  status: number,
  headers: Record<string, string> = {},
): Response {
  return jsonText(task.json, status, headers);
}

/** The task behind an accepted event. @throws Problem when it was refused. */
export function accepted(applied: Applied): { readonly isNew: boolean; readonly task: TaskReply } {
  switch (applied.kind) {
    case "recorded":
    case "repeated":
      return { isNew: applied.kind === "recorded", task: applied.task };
    case "erased":
      throw new Error("an event cannot erase a task");
    case "conflict":
    case "invalid_field":
    case "insufficient_credits":
    case "unknown_task":
    case "unknown_account":
    case "charging":
      throw problemOf(applied);
  }
}

function jsonText(text: string, status: number, headers: Record<string, string>): Response {
  return new Response(text, {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}
