import type { CallbackFacts } from "../../core/views/task-facts.ts";
import type { Env } from "../../env.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { Problem, unknownTask } from "../http/problem.ts";
import { taskClient } from "./task-client.ts";

/**
 * Returns the stored data of a task's callback, from which the requests of its attempts are computed again.
 * @throws Problem `unknown_task`; `task_open` while there is no callback yet; `no_callback` when the task has
 * no URL for one.
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
  const detail = "No callback of this task has been sent.";
  throw new Problem(code, { detail, taskJson: task.json });
}
