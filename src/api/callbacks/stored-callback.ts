import type { CallbackFacts } from "../../core/views/task-facts.ts";
import type { Env } from "../../env.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { taskClient } from "../tasks/task-client.ts";

/**
 * Returns the stored data of a task's callback, from which the requests of its attempts can be computed again.
 * @throws Problem `unknown_task` when there is no task that the caller may read; `task_open` when the task has no
 * result yet; `no_callback` when the task has ended without a `callback_url`.
 */
export async function requireCallback(
  env: Env,
  id: string,
  caller: Caller,
): Promise<CallbackFacts> {
  const inspected = await taskClient(env, id).inspect(caller);
  if (inspected === null) throw unknownTask();
  const { task, facts } = inspected;
  if (facts.callback !== null) return facts.callback;
  const code = task.isTerminal ? "no_callback" : "task_open";
  const detail = task.isTerminal
    ? "The end of this task has no callback."
    : "The callback of this task is sent when it has ended. Until then its progress cannot be examined either.";
  throw new Problem(code, { detail, taskJson: task.json });
}
