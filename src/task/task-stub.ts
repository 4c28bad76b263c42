import { objectNamed } from "../objects.ts";
import type { TaskObject } from "./task-object.ts";

/** The part of the environment that leads to task objects; the rest of it configures their place. */
export interface TaskBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/** Returns the object of a task. @param id of the task, in lower case. */
export function taskObject(env: TaskBindings, id: string) {
  return objectNamed(env.TASKS, id, env);
}
