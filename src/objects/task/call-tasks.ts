import pMap from "p-map";
import { errorText, log } from "../../lib/log.ts";
import { areCallsSpent } from "./task-stub.ts";

/** Largest number of objects that are called at the same time. */
export const CALLED_AT_ONCE = 50;

/**
 * Calls the Durable Objects of many tasks, at most 50 at a time. When a call throws an error, its result is `"failed"`,
 * the log gets a line, and the other calls go on. When the platform permits no more calls to this invocation, the result
 * for each remaining task is `"unasked"`.
 * @param endsAll tells whether an error ends all calls. By default none does.
 * @throws the first error that ends all calls; no further call is then begun.
 */
export async function callTasks<Task extends { readonly id: string }, T>(
  tasks: readonly Task[],
  call: (task: Task) => Promise<T>,
  endsAll: (error: unknown) => boolean = () => false,
): Promise<readonly (T | "failed" | "unasked")[]> {
  let hasCalls = true;
  const callOne = async (task: Task) => {
    if (!hasCalls) return "unasked";
    try {
      return await call(task);
    } catch (error) {
      if (endsAll(error)) throw error;
      if (areCallsSpent(error)) {
        hasCalls = false;
        return "unasked";
      }
      log({ event: "task.unreachable", task_id: task.id, error: errorText(error) }, "warn");
      return "failed";
    }
  };
  return await pMap(tasks, callOne, { concurrency: CALLED_AT_ONCE });
}
