import { ready } from "./database.ts";

/** Reads the tasks that are not settled, which are few, and not the account's rows, which may be millions. */
const OPEN_TASK = `
  SELECT id FROM tasks INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND account = ? AND status IN ('pending', 'processing') LIMIT 1`;

/** Returns the id of an open task of the account; null when the index knows of none. */
export async function findOpenTask(db: D1Database, accountId: string): Promise<string | null> {
  const database = await ready(db);
  const row = await database.prepare(OPEN_TASK).bind(accountId).first<{ id: string }>();
  return row?.id ?? null;
}
