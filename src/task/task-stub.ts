import { objectNamed } from "../objects.ts";
import type { TaskObject } from "./task-object.ts";

/**
 * The binding that leads to task objects. Callers pass the whole environment, whose variables decide where
 * the objects are placed.
 */
export interface TaskBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/** Returns the object of a task. @param id of the task, in lower case. */
export function taskObject(env: TaskBindings, id: string) {
  return objectNamed(env.TASKS, id, env);
}
