import { onSchema } from "./database.ts";
import type { Position } from "./list.ts";
import type { IndexDatabase } from "./index-database.ts";

const OVERDUE = `
  SELECT id, created_at AS createdAt FROM index_rows INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND due_at < ? ORDER BY random() LIMIT ?`;

/**
 * Returns a random sample of the tasks that should have changed before `before` (Unix milliseconds). The sample is
 * random so that sooner or later each task is woken, even when many others cannot proceed.
 */
export async function overdueTasks(
  db: IndexDatabase,
  before: number,
  limit: number,
): Promise<readonly Position[]> {
  return onSchema(db, async (database) => {
    const { results } = await database.prepare(OVERDUE).bind(before, limit).all<Position>();
    return results;
  });
}
