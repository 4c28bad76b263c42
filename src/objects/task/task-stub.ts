import { errorText } from "../../lib/log.ts";
import { objectNamed } from "../placed-object.ts";
import type { WithStartup } from "../../config/runtime.ts";
import type { TaskObject } from "./task-object.ts";

/**
 * The binding by which task objects are called. Callers pass the whole environment, because its configuration decides
 * in which jurisdiction and region the objects are.
 */
export interface TaskBindings extends WithStartup {
  readonly TASKS: DurableObjectNamespace<TaskObject>;
}

/**
 * Pattern of the error that the platform throws when the Worker has made as many calls as are allowed in one invocation
 * (50 on the Free plan).
 */
const CALLS_SPENT = /too many (?:subrequests|api requests)/i;

/** Tells whether a call failed because the Worker may make no more calls in this invocation. */
export function areCallsSpent(error: unknown): boolean {
  return CALLS_SPENT.test(errorText(error));
}

/**
 * Returns the Durable Object of a task. Requests call it by api/tasks/task-client.ts, where a failure of the platform, e.g.
 * an overload, becomes an answer (api/http/object-call.ts).
 * @param id of the task, in lower case.
 */
export function taskObject(env: TaskBindings, id: string) {
  return objectNamed(env.TASKS, id, env);
}
