import { HOUR_MS } from "../core/time.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import { columnOf, FIELDS } from "./index-row-columns.ts";
import { onSchema } from "./database.ts";
import type { Position } from "./list.ts";
import type { IndexDatabase } from "./index-database.ts";

const COLUMNS = FIELDS.map(columnOf);
const VALUES = FIELDS.map((field) => `value ->> '${field}'`);
const STORED = COLUMNS.map((column) => `index_rows.${column}`);
const NEW = COLUMNS.map((column) => `excluded.${column}`);
const UPDATES = [...COLUMNS, "indexed_at"].map((column) => `${column} = excluded.${column}`);

/**
 * SQL statement that inserts or updates, at the time `?2`, the rows in the JSON list `?1`. Rows arrive late, twice and
 * in any order. A stored row is replaced only by one of a newer version of the task, or by one of the same version with
 * other contents, which corrects a wrong row. Rows of expired or erased tasks are not written.
 */
const UPSERT = `
  INSERT INTO index_rows (${COLUMNS.join(", ")}, indexed_at)
  SELECT ${VALUES.join(", ")}, ?2 FROM json_each(?1)
  WHERE coalesce(value ->> 'expiresAt', ?2 + 1) > ?2 AND NOT EXISTS (
    SELECT 1 FROM erased
    WHERE created_at = value ->> 'createdAt' AND id = value ->> 'id' AND version >= value ->> 'version'
  )
  ON CONFLICT (created_at, id) DO UPDATE SET ${UPDATES.join(", ")}
  WHERE excluded.version > index_rows.version
    OR (excluded.version = index_rows.version AND (${NEW.join(", ")}) IS NOT (${STORED.join(", ")}))`;
const NOTE_ERASED = `
  INSERT OR REPLACE INTO erased (created_at, id, version)
  SELECT value ->> 'createdAt', value ->> 'id', value ->> 'version' FROM json_each(?)`;
/**
 * Part of an SQL statement that finds the rows of the tasks in a JSON list of erased tasks, each by its
 * primary key.
 */
const ERASED_ROWS = `
  FROM json_each(?) CROSS JOIN index_rows
    ON index_rows.created_at = value ->> 'createdAt' AND index_rows.id = value ->> 'id'
  WHERE index_rows.version <= value ->> 'version'`;
// Triggers mark the hours of rows that are written, but not of deleted rows: expired rows stay counted.
const MARK_HOURS = `
  INSERT INTO hours_to_count (hour, is_changed, run, created_at, id)
  SELECT DISTINCT hour, 1, '', hour, '' FROM (
    SELECT index_rows.created_at - index_rows.created_at % ${HOUR_MS} AS hour ${ERASED_ROWS}
  ) WHERE true
  ON CONFLICT (hour) DO UPDATE SET is_changed = 1 WHERE is_changed = 0`;
const DELETE = `
  DELETE FROM index_rows
  WHERE (created_at, id) IN (SELECT index_rows.created_at, index_rows.id ${ERASED_ROWS})`;

/** An erased task whose index row is to be deleted. */
interface ErasedTask extends Position {
  /**
   * Version of the task when it was erased. A new task with the same id has a higher version, so its row is not
   * deleted.
   */
  readonly version: number;
}

/**
 * Writes rows to a database of the index, in one statement. If this fails, the write is repeated by the task
 * (core/plans/index-row-schedule.ts) or by the queue (index-row-queue.ts).
 * @param now current time, in Unix milliseconds.
 * @throws when the database fails.
 */
export async function writeRows(
  db: IndexDatabase,
  rows: readonly IndexRow[],
  now: number,
): Promise<void> {
  const list = JSON.stringify(rows);
  await onSchema(db, (database) => database.prepare(UPSERT).bind(list, now).run());
}

/**
 * Deletes the rows of erased tasks from a database of the index, and stores that late rows of these tasks must not be
 * written. It makes three queries for any number of rows, because D1 limits the queries of an invocation.
 */
export async function removeRows(db: IndexDatabase, tasks: readonly ErasedTask[]): Promise<void> {
  const list = JSON.stringify(tasks);
  await onSchema(db, (database) =>
    database.batch(
      [NOTE_ERASED, MARK_HOURS, DELETE].map((statement) => database.prepare(statement).bind(list)),
    ),
  );
}
