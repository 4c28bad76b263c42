import { DAY_MS } from "../core/time.ts";
import type { TimeBudget } from "../time-budget.ts";
import { ready } from "./database.ts";
import { planCheck } from "./expiry-checks.ts";
import type { Position } from "./list.ts";

const ROWS_AT_ONCE = 5_000;
/**
 * Limit on the pages of rows that one run deletes: D1 allows 1,000 queries of one invocation, and each page
 * takes two.
 */
const MAX_ROUNDS = 200;
/** Longest time for which a queue of the platform keeps a message. */
const MAX_QUEUED_MS = 14 * DAY_MS;

/**
 * Query for a page of expired rows after a position. No row expires sooner than the retention after its
 * creation, so younger rows are not examined: there is no database index on `expires_at`.
 */
const EXPIRED = `
  SELECT created_at AS createdAt, id, version FROM tasks
  WHERE created_at <= ?1 AND expires_at <= ?2 AND (created_at, id) > (?3, ?4)
  ORDER BY created_at, id LIMIT ${ROWS_AT_ONCE}`;
/** Statement that deletes the rows of a JSON list, except those renewed since they were read. */
const DELETE_EXPIRED = `
  DELETE FROM tasks WHERE expires_at <= ?2 AND (created_at, id) IN (
    SELECT value ->> 'createdAt', value ->> 'id' FROM json_each(?1)
  )`;
const DELETE_ERASED = "DELETE FROM erased WHERE version < ?";
const OVERDUE = `
  SELECT id, created_at AS createdAt FROM tasks INDEXED BY tasks_due
  WHERE due_at IS NOT NULL AND due_at < ? ORDER BY random() LIMIT ?`;

interface ExpiredRow extends Position, Record<string, unknown> {
  /** Time of the last change, in Unix milliseconds. */
  readonly version: number;
}

/** Retention of tasks and of their rows, in milliseconds. */
export interface Retention {
  readonly retentionMs: number;
  readonly indexRetentionMs: number;
}

/**
 * Deletes expired rows, because the objects of tasks do not announce their end, and plans to check that the
 * tasks of the rows are erased when their own retention has ended. Also deletes the notes that keep late
 * rows of erased tasks from being written, once the queue cannot hold such a row any more.
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
 * Deletes expired rows, and in the same transaction stores a plan to check that their tasks are erased.
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
