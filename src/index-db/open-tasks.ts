import { onSchema } from "./database.ts";
import { inEach } from "./each-shard.ts";
import type { Position } from "./list.ts";
import type { IndexDatabase } from "./index-database.ts";
import type { Shards } from "./shards.ts";

/**
 * SQL query for one task of an account that has no result yet. It uses the database index `tasks_due`. This contains
 * the few tasks, of all accounts, that should still change by themselves, while the account may have millions of other
 * rows.
 */
const OPEN_TASK = `
  SELECT id FROM index_rows INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND account = ? AND status IN ('pending', 'processing') LIMIT 1`;

/**
 * SQL query for a page of the unsettled tasks (those without a result, or with a callback or refund still under way),
 * in the order of the times at which they should change by themselves.
 */
const UNSETTLED = `
  SELECT id, created_at AS createdAt, due_at AS dueAt FROM index_rows INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND (due_at, created_at, id) > (?, ?, ?)
  ORDER BY due_at, created_at, id LIMIT ?`;

/**
 * A task without a result, or with a callback or refund still under way. Its fields are also its position in the list
 * of such tasks.
 */
export interface UnsettledTask extends Position {
  /**
   * Time at which the task should change at the latest without any request, e.g. by its next attempt, in Unix
   * milliseconds.
   */
  readonly dueAt: number;
}

/** Returns the id of any task of the account that has no result yet; null when the index has none. */
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
 * Returns one page of the unsettled tasks: those without a result, and those whose callback or refund is
 * still under way.
 * @param after position of the last task of the previous page.
 */
export async function unsettledTasks(
  { databases }: Shards,
  after: UnsettledTask,
  limit: number,
): Promise<readonly UnsettledTask[]> {
  const read = (db: IndexDatabase) =>
    onSchema(db, (database) =>
      database
        .prepare(UNSETTLED)
        .bind(after.dueAt, after.createdAt, after.id, limit)
        .all<UnsettledTask>(),
    );
  const pages = await inEach(databases, read);
  const tasks = pages.flatMap(({ results }) => results);
  return tasks.toSorted(earliestFirst).slice(0, limit);
}

/** Compares two tasks by due time, then creation time, then id, for sorting. */
function earliestFirst(a: UnsettledTask, b: UnsettledTask): number {
  if (a.dueAt !== b.dueAt) return a.dueAt - b.dueAt;
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
