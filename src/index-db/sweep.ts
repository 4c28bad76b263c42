import { ready } from "./database.ts";
import type { Position } from "./list.ts";
import { DAY_MS } from "../core/time.ts";

const DELETE_AT_ONCE = 5_000;
const MAX_ROUNDS = 40;

/**
 * Takes away rows whose tasks have expired; objects do not announce their end. None expires sooner than
 * the retention after its creation, so the younger ones are not looked at. @returns how many.
 */
export async function removeExpired(
  db: D1Database,
  retentionMs: number,
  now: number,
): Promise<number> {
  const database = await ready(db);
  const removal = database
    .prepare(
      `DELETE FROM tasks WHERE (created_at, id) IN
         (SELECT created_at, id FROM tasks
          WHERE created_at <= ? AND expires_at <= ? LIMIT ${DELETE_AT_ONCE})`,
    )
    .bind(now - retentionMs, now);
  let removed = 0;
  for (let round = 0; round < MAX_ROUNDS && removed === round * DELETE_AT_ONCE; round++) {
    removed += (await removal.run()).meta.changes;
  }
  // No message is on its way for longer: a queue keeps them for 14 days at most.
  await database
    .prepare("DELETE FROM erased WHERE version < ?")
    .bind(now - 14 * DAY_MS)
    .run();
  return removed;
}

/** Some of the tasks that should have changed by `before`, others each time: none waits behind the rest. */
export async function overdueTasks(
  db: D1Database,
  before: number,
  limit: number,
): Promise<readonly Position[]> {
  const database = await ready(db);
  const { results } = await database
    .prepare(
      `SELECT id, created_at AS createdAt FROM tasks INDEXED BY tasks_due
       WHERE due_at IS NOT NULL AND due_at < ? ORDER BY random() LIMIT ?`,
    )
    .bind(before, limit)
    .all<Position & Record<string, unknown>>();
  return results;
}
