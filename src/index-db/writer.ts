import type { IndexRow } from "../core/views/index-row.ts";
import { ready } from "./database.ts";

/** Column of `tasks` and the field of a row that it holds. */
const COLUMNS: readonly (readonly [string, keyof IndexRow])[] = [
  ["id", "id"],
  ["version", "version"],
  ["account", "account"],
  ["model", "model"],
  ["provider", "provider"],
  ["status", "status"],
  ["callback", "callback"],
  ["attempts", "attempts"],
  ["last_outcome", "lastOutcome"],
  ["last_status_code", "lastStatusCode"],
  ["host", "host"],
  ["created_at", "createdAt"],
  ["completed_at", "completedAt"],
  ["finished_at", "finishedAt"],
  ["settled_at", "settledAt"],
  ["first_attempt_ms", "firstAttemptMs"],
  ["settled_ms", "settledMs"],
  ["due_at", "dueAt"],
  ["expires_at", "expiresAt"],
];

const NAMES = COLUMNS.map(([column]) => column);
const VALUES = COLUMNS.map(([, field]) => `value ->> '${field}'`);
const KNOWN = NAMES.map((column) => `tasks.${column}`).join(", ");
const NEWS = NAMES.map((column) => `excluded.${column}`).join(", ");
const UPDATES = [...NAMES, "indexed_at"].map((column) => `${column} = excluded.${column}`);

/**
 * Rows arrive late, twice and in any order: only a newer one is written, none that has expired or was
 * erased. One of the same version repairs what differs.
 */
const UPSERT = `
  INSERT INTO tasks (${NAMES.join(", ")}, indexed_at)
  SELECT ${VALUES.join(", ")}, ?2 FROM json_each(?1)
  WHERE coalesce(value ->> 'expiresAt', ?2 + 1) > ?2 AND NOT EXISTS (
    SELECT 1 FROM erased
    WHERE created_at = value ->> 'createdAt' AND id = value ->> 'id' AND version >= value ->> 'version'
  )
  ON CONFLICT (created_at, id) DO UPDATE SET ${UPDATES.join(", ")}
  WHERE excluded.version > tasks.version
    OR (excluded.version = tasks.version AND (${NEWS}) IS NOT (${KNOWN}))`;

/** Writes rows in one statement. @param now Unix milliseconds. @throws when the database fails. */
export async function writeRows(
  db: D1Database,
  rows: readonly IndexRow[],
  now: number,
): Promise<void> {
  const database = await ready(db);
  await database.prepare(UPSERT).bind(JSON.stringify(rows), now).run();
}

/**
 * Takes the row of an erased task away, also when it is still on its way.
 * @param version of the task when it was erased; a later life of the same id has a higher one.
 */
export async function removeRow(
  db: D1Database,
  { id, createdAt, version }: { id: string; createdAt: number; version: number },
): Promise<void> {
  const database = await ready(db);
  await database.batch([
    database
      .prepare("INSERT OR REPLACE INTO erased (created_at, id, version) VALUES (?, ?, ?)")
      .bind(createdAt, id, version),
    database
      .prepare("DELETE FROM tasks WHERE created_at = ? AND id = ? AND version <= ?")
      .bind(createdAt, id, version),
  ]);
}
