import pMap from "p-map";
import { errorText, log } from "../../log.ts";
import { Problem } from "../http/problem.ts";

const CONCURRENCY = 50;

/**
 * Calls the Durable Objects of many tasks, at most 50 at a time. When a call throws, its result is
 * `"failed"`, with a line in the log, and the other calls go on; only a Problem ends them all.
 * @throws Problem when a call throws one, e.g. `unavailable`.
 */
export async function callTasks<T>(
  ids: readonly string[],
  call: (id: string) => Promise<T>,
): Promise<readonly (T | "failed")[]> {
  const callOne = async (id: string) => {
    try {
      return await call(id);
    } catch (error) {
      if (error instanceof Problem) throw error;
      log({ event: "task.unreachable", task_id: id, error: errorText(error) }, "warn");
      return "failed";
    }
  };
  return pMap(ids, callOne, { concurrency: CONCURRENCY });
}
