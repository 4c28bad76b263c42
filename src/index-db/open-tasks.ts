import pMap from "p-map";
import { onSchema } from "./database.ts";
import type { Position } from "./list.ts";
import type { Shards } from "./shards.ts";

const CONCURRENCY = 6;

/**
 * Query for one open task of an account. It reads the tasks that are not settled, which are few, and not
 * the account's rows, which may be millions.
 */
const OPEN_TASK = `
  SELECT id FROM tasks INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND account = ? AND status IN ('pending', 'processing') LIMIT 1`;

/**
 * Query for a page of the tasks that are not settled, in the order of their due times, overdue tasks first.
 */
const UNSETTLED = `
  SELECT id, created_at AS createdAt, due_at AS dueAt FROM tasks INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND (due_at, created_at, id) > (?, ?, ?)
  ORDER BY due_at, created_at, id LIMIT ?`;

/** Position of a row in the list of tasks that are not settled. */
export interface UnsettledTask extends Position {
  /** Time at which the task should change, in Unix milliseconds. */
  readonly dueAt: number;
}

/** Returns the id of an open task of the account; null when the index has none. */
export async function findOpenTask(shards: Shards, accountId: string): Promise<string | null> {
  for (const db of shards.databases) {
    const row = await onSchema(db, (database) =>
      database.prepare(OPEN_TASK).bind(accountId).first<{ id: string }>(),
    );
    if (row !== null) return row.id;
  }
  return null;
}

/**
 * Returns one page of the tasks that are not settled: those that are open, or whose callback is not settled.
 * @param after position of the last task of the page before.
 */
export async function unsettledTasks(
  { databases }: Shards,
  after: UnsettledTask,
  limit: number,
): Promise<readonly UnsettledTask[]> {
  const read = (db: D1Database) =>
    onSchema(db, (database) =>
      database
        .prepare(UNSETTLED)
        .bind(after.dueAt, after.createdAt, after.id, limit)
        .all<UnsettledTask & Record<string, unknown>>(),
    );
  const pages = await pMap(databases, read, { concurrency: CONCURRENCY });
  const tasks = pages.flatMap(({ results }) => results);
  return tasks.toSorted(earliestFirst).slice(0, limit);
}

/** Compares two tasks by due time, creation time and id, the order of the query `UNSETTLED`. */
function earliestFirst(a: UnsettledTask, b: UnsettledTask): number {
  if (a.dueAt !== b.dueAt) return a.dueAt - b.dueAt;
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
