import { MINUTE_MS } from "../core/time.ts";
import { sum } from "../core/sum.ts";
import { earliest, readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";
import type { OpenCopies } from "./statistics-shape.ts";

/** Result of the query `OPEN_COPIES`. */
export interface OpenCopiesRow {
  readonly tasks: number;
  readonly outputs: number;
  readonly lateOutputs: number;
  readonly lateTasks: number;
  readonly oldestAt: number | null;
}

/** Time in milliseconds within which the copy of an output should have ended. One try takes 12 minutes at most. */
const LATE_MS = 15 * MINUTE_MS;

/**
 * SQL query that counts the outputs that are being copied, of the `?2` tasks that have completed first. Those of tasks
 * that have completed before `?1` are late. It reads only entries of the database index `tasks_copying`.
 */
export const OPEN_COPIES = `
  SELECT count(*) AS tasks, coalesce(sum(copying_outputs), 0) AS outputs,
    coalesce(sum(CASE WHEN finished_at < ?1 THEN copying_outputs END), 0) AS lateOutputs,
    count(CASE WHEN finished_at < ?1 THEN 1 END) AS lateTasks, min(finished_at) AS oldestAt
  FROM (
    SELECT finished_at, copying_outputs FROM index_rows INDEXED BY tasks_copying
    WHERE copying_outputs > 0 ORDER BY finished_at LIMIT ?2
  )`;

/** Returns the time before which a task with open copies must have completed for them to be late. */
export function lateBefore(now: number): number {
  return now - LATE_MS;
}

/** Adds up the open copies of all databases. @param share largest number of tasks that were counted in each. */
export function sumOfCopies(rows: readonly OpenCopiesRow[], share: number): OpenCopies {
  return {
    outputs: sum(rows.map(({ outputs }) => outputs)),
    lateOutputs: sum(rows.map(({ lateOutputs }) => lateOutputs)),
    lateTasks: sum(rows.map(({ lateTasks }) => lateTasks)),
    isCapped: rows.some(({ tasks }) => tasks >= share),
    oldestAt: earliest(rows.map(({ oldestAt }) => oldestAt)),
  };
}

/**
 * Counts the outputs that are being copied.
 * @param limit largest number of tasks whose outputs are counted.
 * @param now current time, in Unix milliseconds.
 */
export async function countCopies(shards: Shards, limit: number, now: number): Promise<OpenCopies> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(OPEN_COPIES).bind(lateBefore(now), share);
    const { results } = await statement.all<OpenCopiesRow>();
    return results;
  });
  return sumOfCopies(parts.flat(), share);
}
