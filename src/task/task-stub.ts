import { objectNamed } from "../objects.ts";
import type { TaskObject } from "./task-object.ts";

/** The part of the environment that leads to the objects of tasks; the rest of it says where they live. */
export interface TaskBindings {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/** Returns the object of a task. @param id in lower case. */
export function taskObject(env: TaskBindings, id: string) {
  return objectNamed(env.TASKS, id, env);
}
