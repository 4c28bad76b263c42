import { sum } from "../core/sum.ts";
import { latest, readEach, shareOf } from "./each-shard.ts";
import type { Shards } from "./shards.ts";

/** Fields of the row of a task that show problems with its callback, its refund or its job. */
export interface TroubledTask {
  readonly id: string;
  readonly account: string | null;
  readonly provider: string | null;
  readonly status: string;
  readonly submission: string | null;
  readonly callback: string | null;
  readonly attempts: number;
  readonly lastOutcome: string | null;
  readonly lastStatusCode: number | null;
  readonly host: string | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly settledAt: number | null;
  readonly firstAttemptMs: number | null;
  readonly dueAt: number | null;
}

/**
 * Result of a search for troubled tasks: those with failed callbacks, or those that should change next by themselves.
 */
export interface Found {
  readonly tasks: readonly TroubledTask[];
  /** True when the search has reached its limit, so that there may be more tasks. */
  readonly isCapped: boolean;
}

const COLUMNS = `index_rows.id, account, provider, status, submission, callback, attempts, last_outcome AS lastOutcome,
  last_status_code AS lastStatusCode, index_rows.host, index_rows.created_at AS createdAt, finished_at AS finishedAt,
  settled_at AS settledAt, first_attempt_ms AS firstAttemptMs, due_at AS dueAt`;

const FAILED = `
  SELECT ${COLUMNS} FROM index_rows INDEXED BY tasks_failed
  WHERE callback = 'failed' ORDER BY created_at DESC, id DESC LIMIT ?`;
const NEWEST_FAILED = `
  SELECT created_at, id, host FROM index_rows INDEXED BY tasks_failed
  WHERE callback = 'failed' ORDER BY created_at DESC, id DESC LIMIT ?1`;
/**
 * SQL query that finds the failed callbacks to one host. It looks for the host in the database index `tasks_failed`,
 * and so reads only rows of this host.
 */
const FAILED_OF_HOST = `
  SELECT ${COLUMNS} FROM (${NEWEST_FAILED}) AS newest
  CROSS JOIN index_rows ON index_rows.created_at = newest.created_at AND index_rows.id = newest.id
  WHERE newest.host = ?2`;
const IS_CAPPED = `SELECT 1 FROM (${NEWEST_FAILED}) LIMIT 1 OFFSET ?1 - 1`;
const NEXT = `
  SELECT ${COLUMNS} FROM index_rows INDEXED BY tasks_due
  WHERE due_at IS NOT NULL ORDER BY due_at, created_at, id LIMIT ?`;
/** SQL query that finds the accounts of the newest tasks of one host, and among all of these the last delivery. */
const NEWEST_OF_HOST = `
  SELECT account, count(*) AS tasks,
    max(max(CASE WHEN callback = 'delivered' THEN settled_at END)) OVER () AS deliveredAt
  FROM (
    SELECT account, settled_at, host, callback FROM index_rows
    ORDER BY created_at DESC, id DESC LIMIT ?1
  ) WHERE host = ?2 GROUP BY account ORDER BY tasks DESC, account LIMIT ?3`;

/** Finds the tasks whose callback has failed, newest first. @param limit largest number of these tasks. */
export async function failedCallbacks(shards: Shards, limit: number): Promise<Found> {
  const { tasks, isCapped } = await search(shards, FAILED, limit);
  return { tasks: tasks.toSorted((a, b) => b.createdAt - a.createdAt), isCapped };
}

/**
 * Finds the tasks that should change next by themselves, e.g. by an attempt or a poll.
 * @param limit largest number of these tasks.
 */
export async function nextTasks(shards: Shards, limit: number): Promise<Found> {
  const { tasks, isCapped } = await search(shards, NEXT, limit);
  return { tasks: tasks.toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0)), isCapped };
}

async function search(shards: Shards, sql: string, limit: number): Promise<Found> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const { results } = await database.prepare(sql).bind(share).all<TroubledTask>();
    return results;
  });
  return { tasks: parts.flat(), isCapped: parts.some(({ length }) => length >= share) };
}

/**
 * Finds the failed callbacks to one host, newest first.
 * @param limit number of the newest failed callbacks (to any host) among which those to this host are searched.
 */
export async function failedCallbacksOf(
  host: string,
  shards: Shards,
  limit: number,
): Promise<Found> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const [found, more] = await database.batch<TroubledTask>([
      database.prepare(FAILED_OF_HOST).bind(share, host),
      database.prepare(IS_CAPPED).bind(share),
    ]);
    return { tasks: found?.results ?? [], isCapped: more?.results.length === 1 };
  });
  return {
    tasks: parts.flatMap(({ tasks }) => tasks).toSorted((a, b) => b.createdAt - a.createdAt),
    isCapped: parts.some(({ isCapped }) => isCapped),
  };
}

/** The newest tasks whose callbacks go to one host. */
export interface NewestOfHost {
  /** Accounts of these tasks, those with the most tasks first. Null stands for tasks without an account. */
  readonly accounts: readonly { readonly account: string | null; readonly tasks: number }[];
  /** When the last callback to the host was delivered, in Unix milliseconds; null when none was. */
  readonly deliveredAt: number | null;
}

/**
 * Finds the accounts of the newest tasks of a host, and the last callback that was delivered to it.
 * @param limit number of the newest tasks (with any host) among which those of the host are searched.
 * @param maxAccounts largest number of accounts.
 */
export async function newestOfHost(
  host: string,
  shards: Shards,
  limit: number,
  maxAccounts: number,
): Promise<NewestOfHost> {
  const share = shareOf(limit, shards);
  const parts = await readEach(shards, async (database) => {
    const found = database.prepare(NEWEST_OF_HOST).bind(share, host, maxAccounts);
    const { results } = await found.all<{
      readonly account: string | null;
      readonly tasks: number;
      readonly deliveredAt: number | null;
    }>();
    return results;
  });
  const rows = parts.flat();
  const accounts = Map.groupBy(rows, ({ account }) => account);
  return {
    accounts: [...accounts]
      .map(([account, ofAccount]) => ({
        account,
        tasks: sum(ofAccount.map(({ tasks }) => tasks)),
      }))
      .toSorted((a, b) => b.tasks - a.tasks)
      .slice(0, maxAccounts),
    deliveredAt: latest(rows.map(({ deliveredAt }) => deliveredAt)),
  };
}
