import { sum } from "../core/sum.ts";
import { readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";

/** Numbers of the open tasks (those without a result) of a connection to a provider, by status. */
export interface OpenOfConnection {
  /** Name of the connection; null for the tasks that name none. */
  readonly connection: string | null;
  readonly pending: number;
  readonly processing: number;
}

export interface OpenPerConnection {
  /** Numbers of open tasks of each connection that has any, the largest number first. */
  readonly connections: readonly OpenOfConnection[];
  /** True when the search has reached its limit, so that there may be more open tasks. */
  readonly isCapped: boolean;
  /** Number of rows that the search has read, as D1 bills them. */
  readonly rowsRead: number;
}

interface Row extends OpenOfConnection {
  readonly searched: number;
}

/**
 * SQL query that counts the open tasks by connection, among a limited number of unsettled tasks. Tasks whose next
 * change is farthest in the future are taken first, because these are usually the open ones: an open task waits for its
 * deadline, while a callback that is being sent changes within minutes.
 */
const OPEN = `
  SELECT provider AS connection, count(*) AS searched,
    count(CASE WHEN status = 'pending' THEN 1 END) AS pending,
    count(CASE WHEN status = 'processing' THEN 1 END) AS processing
  FROM (
    SELECT provider, status FROM index_rows INDEXED BY tasks_due
    WHERE due_at IS NOT NULL ORDER BY due_at DESC LIMIT ?
  ) GROUP BY provider`;

/**
 * Counts the open tasks (those without a result) of each connection.
 * @param limit largest number of unsettled tasks (without a result, or with a callback or refund still under way) that
 * are examined.
 */
export async function openPerConnection(shards: Shards, limit: number): Promise<OpenPerConnection> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const statement = database.prepare(OPEN).bind(share);
    const { results, meta } = await statement.all<Row>();
    return { rows: results, rowsRead: meta.rows_read };
  });
  const groups = Map.groupBy(
    parts.flatMap(({ rows }) => rows),
    ({ connection }) => connection,
  );
  return {
    connections: [...groups]
      .map(([connection, rows]) => ({
        connection,
        pending: sum(rows.map(({ pending }) => pending)),
        processing: sum(rows.map(({ processing }) => processing)),
      }))
      .filter((open) => totalOf(open) > 0)
      .toSorted((a, b) => totalOf(b) - totalOf(a)),
    isCapped: parts.some(({ rows }) => sum(rows.map(({ searched }) => searched)) >= share),
    rowsRead: sum(parts.map(({ rowsRead }) => rowsRead)),
  };
}

function totalOf({ pending, processing }: OpenOfConnection): number {
  return pending + processing;
}
