import pMap from "p-map";
import { errorText, log } from "../../lib/log.ts";
import { areCallsSpent } from "../../objects/task/task-stub.ts";
import { Problem } from "../http/problem.ts";

const CONCURRENCY = 50;

/**
 * Calls the Durable Objects of many tasks, at most 50 at a time. When a call throws an error, its result is `"failed"`,
 * the log gets a line, and the other calls go on. When the platform permits no more calls to this request, the result
 * for each remaining task is `"unasked"`.
 * @throws Problem when a call throws a `Problem`, e.g. `unavailable`; no further call is then begun.
 */
export async function callTasks<T>(
  ids: readonly string[],
  call: (id: string) => Promise<T>,
): Promise<readonly (T | "failed" | "unasked")[]> {
  let hasCalls = true;
  const callOne = async (id: string) => {
    if (!hasCalls) return "unasked";
    try {
      return await call(id);
    } catch (error) {
      if (error instanceof Problem) throw error;
      if (areCallsSpent(error)) {
        hasCalls = false;
        return "unasked";
      }
      log({ event: "task.unreachable", task_id: id, error: errorText(error) }, "warn");
      return "failed";
    }
  };
  return await pMap(ids, callOne, { concurrency: CONCURRENCY });
}
