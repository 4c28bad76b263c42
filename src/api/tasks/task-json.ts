import type { TaskReply } from "../../objects/task/reply.ts";
import type { Task, TaskStatus } from "../shapes/task-shape.ts";

/**
 * Returns a task that its object has written as text. Only the text has the callback body byte for byte, so the
 * object sends no other form, and this is the one place that reads it.
 */
export function taskIn({ json }: Pick<TaskReply, "json">): Task {
  return JSON.parse(json);
}

/** Returns a task that its object has written as text for whoever has its status link. */
export function linkedTaskIn({ json }: Pick<TaskReply, "json">): TaskStatus {
  return JSON.parse(json);
}
