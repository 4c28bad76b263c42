import { DAY_MS } from "../core/time.ts";
import type { TimeBudget } from "../time-budget.ts";
import { ready } from "./database.ts";
import { planCheck } from "./expiry-checks.ts";
import type { Position } from "./list.ts";

const ROWS_AT_ONCE = 5_000;
/**
 * Largest number of pages of expired rows that one run deletes: D1 allows 1,000 queries in one invocation,
 * and each page takes two.
 */
const MAX_ROUNDS = 200;
/** Longest time in milliseconds for which a queue of Cloudflare keeps a message. */
const MAX_QUEUED_MS = 14 * DAY_MS;

/**
 * Query for a page of expired rows of the index, after a position. A row expires at the earliest one
 * retention after its creation, so younger rows are not read; there is no database index on `expires_at`.
 */
const EXPIRED = `
  SELECT created_at AS createdAt, id, version FROM tasks
  WHERE created_at <= ?1 AND expires_at <= ?2 AND (created_at, id) > (?3, ?4)
  ORDER BY created_at, id LIMIT ${ROWS_AT_ONCE}`;
/**
 * Statement that deletes the rows of a JSON list, except those that were written again with a later expiry
 * since the list was read.
 */
const DELETE_EXPIRED = `
  DELETE FROM tasks WHERE expires_at <= ?2 AND (created_at, id) IN (
    SELECT value ->> 'createdAt', value ->> 'id' FROM json_each(?1)
  )`;
const DELETE_ERASED = "DELETE FROM erased WHERE version < ?";
const OVERDUE = `
  SELECT id, created_at AS createdAt FROM tasks INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND due_at < ? ORDER BY random() LIMIT ?`;

interface ExpiredRow extends Position, Record<string, unknown> {
  /** Version of the task in its row, which is about the time of its last change, in Unix milliseconds. */
  readonly version: number;
}

/**
 * Retention of tasks (`retentionMs`) and of their rows in the index (`indexRetentionMs`), in milliseconds.
 */
export interface Retention {
  readonly retentionMs: number;
  readonly indexRetentionMs: number;
}

/**
 * Deletes the expired rows of a database of the index, because the objects of tasks do not delete them when
 * they erase the tasks. Also plans, for the end of the tasks' own retention, a check that the objects have
 * erased the tasks; and deletes old rows of the table `erased`, which prevents the rows of erased tasks from
 * being written late, once the queue cannot hold such a row any more.
 * @param now current time, in Unix milliseconds.
 * @returns the number of deleted rows.
 */
export async function removeExpired(
  db: D1Database,
  retention: Retention,
  now: number,
  budget: TimeBudget,
): Promise<number> {
  const database = await ready(db);
  await database
    .prepare(DELETE_ERASED)
    .bind(now - MAX_QUEUED_MS)
    .run();
  let removed = 0;
  let last: Position | undefined = { createdAt: 0, id: "" };
  for (let round = 0; round < MAX_ROUNDS && last && !budget.isSpent(); round++) {
    const { results: rows }: D1Result<ExpiredRow> = await database
      .prepare(EXPIRED)
      .bind(now - retention.indexRetentionMs, now, last.createdAt, last.id)
      .all<ExpiredRow>();
    removed += await deleteRows(database, rows, retention.retentionMs, now);
    last = rows.length < ROWS_AT_ONCE ? undefined : rows.at(-1);
  }
  return removed;
}

/**
 * Deletes these expired rows, and in the same transaction stores the plan to check that their tasks are
 * erased.
 * @returns the number of deleted rows.
 */
async function deleteRows(
  database: D1Database,
  rows: readonly ExpiredRow[],
  retentionMs: number,
  now: number,
): Promise<number> {
  if (rows.length === 0) return 0;
  const isOver = ({ version }: ExpiredRow) => version + retentionMs <= now;
  const over = rows.filter(isOver);
  const others = rows.filter((row) => !isOver(row));
  const endsAt = others.reduce((last, { version }) => Math.max(last, version), 0) + retentionMs;
  const answers = await database.batch([
    database.prepare(DELETE_EXPIRED).bind(JSON.stringify(rows), now),
    ...planCheck(database, idsOf(over), now),
    ...planCheck(database, idsOf(others), endsAt),
  ]);
  return answers[0]?.meta.changes ?? 0;
}

function idsOf(rows: readonly ExpiredRow[]): readonly string[] {
  return rows.map(({ id }) => id);
}

/**
 * Returns a random sample of the tasks that should have changed before `before` (Unix milliseconds). The
 * sample is random so that each task gets its turn, even when many cannot proceed.
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
