import { objectNamed } from "../objects.ts";
import type { TaskObject } from "./task-object.ts";

/**
 * The binding through which task objects are called. Callers pass the whole environment, because its
 * variables decide in which jurisdiction and region the objects are.
 */
export interface TaskBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/** Returns the Durable Object of a task. @param id of the task, in lower case. */
export function taskObject(env: TaskBindings, id: string) {
  return objectNamed(env.TASKS, id, env);
}
