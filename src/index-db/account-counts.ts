import { sum } from "../core/sum.ts";
import { earliest, readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";
import type { Window } from "./statistics-shape.ts";
import type { Count } from "./count-kinds.ts";

interface AccountCount extends Omit<Count, "model"> {
  /**
   * Category of the failure of the counted tasks; empty when they have not failed, and when the category is not known.
   */
  readonly category: string;
}

/**
 * Numbers of the tasks of an account and of their callback attempts. The tasks are counted by status, category of the
 * failure and callback status.
 */
export interface AccountCounts {
  readonly counts: readonly AccountCount[];
  /** True when the count has reached its limit, so that older tasks of the window of time may have been left out. */
  readonly isCapped: boolean;
  /** Creation time of the oldest counted task, in Unix milliseconds; null when there is none. */
  readonly oldestAt: number | null;
}

type Row = AccountCount & { readonly oldestAt: number };

const COUNTS = `
  SELECT status, category, callback, count(*) AS tasks, sum(attempts) AS attempts, min(created_at) AS oldestAt
  FROM (
    SELECT status, coalesce(category, '') AS category, coalesce(callback, '') AS callback,
      attempts, created_at
    FROM index_rows INDEXED BY tasks_of_account
    WHERE account = ?1 AND created_at >= ?2 AND created_at < ?3
    ORDER BY created_at DESC, id DESC LIMIT ?4
  ) GROUP BY 1, 2, 3`;

/**
 * Counts the tasks of an account that were created in a window of time.
 * @param limit largest number of tasks that are counted. If there are more, only the newest ones are counted.
 */
export async function accountCounts(
  shards: Shards,
  account: string,
  { since, until }: Window,
  limit: number,
): Promise<AccountCounts> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(COUNTS).bind(account, since, until, share);
    return (await statement.all<Row>()).results;
  });
  return {
    counts: parts.flat(),
    isCapped: parts.some((rows) => sum(rows.map(({ tasks }) => tasks)) >= share),
    oldestAt: earliest(parts.flat().map(({ oldestAt }) => oldestAt)),
  };
}
