import type { TaskReply } from "../../objects/task/reply.ts";
import type { Task, TaskStatus } from "../shapes/task-shape.ts";

/**
 * Returns a task from the JSON text that the task's object has sent. The object sends no other form, because only this
 * text contains the body of the callback byte for byte. All other code reads the text through this function.
 */
export function taskIn({ json }: Pick<TaskReply, "json">): Task {
  return JSON.parse(json);
}

/**
 * Returns a task from the JSON text that the task's object has sent, with the members that everybody who has the status
 * link may see.
 */
export function linkedTaskIn({ json }: Pick<TaskReply, "json">): TaskStatus {
  return JSON.parse(json);
}
