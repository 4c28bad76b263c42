import { DAY_MS } from "../core/time.ts";
import { ready } from "./database.ts";
import type { Position } from "./list.ts";

const DELETE_AT_ONCE = 5_000;
const MAX_ROUNDS = 40;
/** Longest time for which a queue of the platform keeps a message. */
const MAX_QUEUED_MS = 14 * DAY_MS;

/**
 * Deletes a batch of expired rows. No row expires sooner than the retention after its creation, so younger
 * rows are not examined: there is no database index on `expires_at`.
 */
const DELETE_EXPIRED = `
  DELETE FROM tasks WHERE (created_at, id) IN (
    SELECT created_at, id FROM tasks
    WHERE created_at <= ? AND expires_at <= ? LIMIT ${DELETE_AT_ONCE}
  )`;
const DELETE_ERASED = "DELETE FROM erased WHERE version < ?";
const OVERDUE = `
  SELECT id, created_at AS createdAt FROM tasks INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND due_at < ? ORDER BY random() LIMIT ?`;

/**
 * Deletes the rows of expired tasks, because objects do not announce their end, and the notes of erased
 * tasks once no queued row of them can arrive any more.
 * @param now current time, in Unix milliseconds.
 * @returns the number of deleted rows.
 */
export async function removeExpired(
  db: D1Database,
  retentionMs: number,
  now: number,
): Promise<number> {
  const database = await ready(db);
  const removal = database.prepare(DELETE_EXPIRED).bind(now - retentionMs, now);
  let removed = 0;
  for (let round = 0; round < MAX_ROUNDS && removed === round * DELETE_AT_ONCE; round++) {
    removed += (await removal.run()).meta.changes;
  }
  await database
    .prepare(DELETE_ERASED)
    .bind(now - MAX_QUEUED_MS)
    .run();
  return removed;
}

/**
 * Returns a random sample of the tasks overdue since `before`, so that tasks that cannot proceed do not
 * starve the others.
 * @param before latest due time of the sampled tasks, in Unix milliseconds.
 */
export async function overdueTasks(
  db: D1Database,
  before: number,
  limit: number,
): Promise<readonly Position[]> {
  const database = await ready(db);
  const { results } = await database
    .prepare(OVERDUE)
    .bind(before, limit)
    .all<Position & Record<string, unknown>>();
  return results;
}
