import { HOUR_MS } from "../core/time.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import { columnOf, FIELDS } from "./columns.ts";
import { ready } from "./database.ts";

const COLUMNS = FIELDS.map(columnOf);
const VALUES = FIELDS.map((field) => `value ->> '${field}'`);
const STORED = COLUMNS.map((column) => `tasks.${column}`);
const NEW = COLUMNS.map((column) => `excluded.${column}`);
const UPDATES = [...COLUMNS, "indexed_at"].map((column) => `${column} = excluded.${column}`);

/**
 * Inserts or updates the rows of the JSON list `?1` at the time `?2`. Rows arrive late, twice and in any
 * order: only a newer version replaces a stored one, and rows of expired or erased tasks are skipped. A row
 * of the same version is written only where it differs, which repairs the index.
 */
const UPSERT = `
  INSERT INTO tasks (${COLUMNS.join(", ")}, indexed_at)
  SELECT ${VALUES.join(", ")}, ?2 FROM json_each(?1)
  WHERE coalesce(value ->> 'expiresAt', ?2 + 1) > ?2 AND NOT EXISTS (
    SELECT 1 FROM erased
    WHERE created_at = value ->> 'createdAt' AND id = value ->> 'id' AND version >= value ->> 'version'
  )
  ON CONFLICT (created_at, id) DO UPDATE SET ${UPDATES.join(", ")}
  WHERE excluded.version > tasks.version
    OR (excluded.version = tasks.version AND (${NEW.join(", ")}) IS NOT (${STORED.join(", ")}))`;
const NOTE_ERASED = "INSERT OR REPLACE INTO erased (created_at, id, version) VALUES (?, ?, ?)";
// Triggers mark the hours of rows that are written, but not of deleted rows: expired rows stay counted.
const MARK_HOUR = `
  INSERT OR IGNORE INTO dirty_hours (hour, run) SELECT created_at - created_at % ${HOUR_MS}, ''
  FROM tasks WHERE created_at = ? AND id = ? AND version <= ?`;
const DELETE = "DELETE FROM tasks WHERE created_at = ? AND id = ? AND version <= ?";

/**
 * Writes rows in one statement. A failed write is retried by the task (core/record/publication.ts) or by
 * the queue (consumer.ts).
 * @param now current time, in Unix milliseconds.
 * @throws when the database fails.
 */
export async function writeRows(
  db: D1Database,
  rows: readonly IndexRow[],
  now: number,
): Promise<void> {
  const database = await ready(db);
  await database.prepare(UPSERT).bind(JSON.stringify(rows), now).run();
}

/**
 * Deletes the row of an erased task, and prevents a row that is still on its way from being written.
 * @param version of the task when it was erased; a later task of the same id has a higher one.
 */
export async function removeRow(
  db: D1Database,
  { id, createdAt, version }: { id: string; createdAt: number; version: number },
): Promise<void> {
  const database = await ready(db);
  const values = [createdAt, id, version];
  await database.batch([
    database.prepare(NOTE_ERASED).bind(...values),
    database.prepare(MARK_HOUR).bind(...values),
    database.prepare(DELETE).bind(...values),
  ]);
}
