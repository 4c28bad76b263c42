import { ready } from "./database.ts";
import type { Position } from "./list.ts";

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

/** Returns the id of an open task of the account; null when the index knows of none. */
export async function findOpenTask(db: D1Database, accountId: string): Promise<string | null> {
  const database = await ready(db);
  const row = await database.prepare(OPEN_TASK).bind(accountId).first<{ id: string }>();
  return row?.id ?? null;
}

/**
 * Returns one page of the tasks that are not settled: those that are open, or whose callback is not settled.
 * @param after position of the last task of the page before.
 */
export async function unsettledTasks(
  db: D1Database,
  after: UnsettledTask,
  limit: number,
): Promise<readonly UnsettledTask[]> {
  const database = await ready(db);
  const { results } = await database
    .prepare(UNSETTLED)
    .bind(after.dueAt, after.createdAt, after.id, limit)
    .all<UnsettledTask & Record<string, unknown>>();
  return results;
}
