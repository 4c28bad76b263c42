import type { TaskReply } from "../../objects/task/reply.ts";
import type { Task, TaskStatus } from "../shapes/task-shape.ts";

/**
 * Parses the JSON text of a task, which the task's object has sent. Objects send tasks only as text, because this text
 * contains the body of the callback byte for byte. All other code parses the text by this function.
 */
export function taskIn({ json }: Pick<TaskReply, "json">): Task {
  return JSON.parse(json);
}

/**
 * Parses the JSON text of a task, which the task's object has sent, into the members that everybody with the status
 * link may see.
 */
export function linkedTaskIn({ json }: Pick<TaskReply, "json">): TaskStatus {
  return JSON.parse(json);
}
