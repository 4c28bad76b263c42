import { MIGRATIONS } from "./migrations.ts";

/** Longest time in milliseconds that a write to the index may delay other work. */
export const INDEX_TIMEOUT_MS = 2_000;
/** Longest time in milliseconds that a request waits for an answer of the index. */
export const QUERY_TIMEOUT_MS = 10_000;

const VERSIONS = `CREATE TABLE IF NOT EXISTS relay_schema (
  version INTEGER NOT NULL PRIMARY KEY,
  applied_at INTEGER NOT NULL
) STRICT`;

// Databases whose schema is up to date. The set holds no promises: a request must not await a promise of
// another.
const migrated = new WeakSet<D1Database>();

/**
 * Returns the index database with the newest schema. The first call in an isolate applies missing
 * migrations.
 */
export async function ready(db: D1Database): Promise<D1Database> {
  if (migrated.has(db)) return db;
  await db.prepare(VERSIONS).run();
  const applied = await db
    .prepare("SELECT max(version) AS version FROM relay_schema")
    .first<{ version: number | null }>();
  for (const [index, statements] of MIGRATIONS.entries()) {
    const version = index + 1;
    if (version <= (applied?.version ?? 0)) continue;
    const note = db
      .prepare("INSERT OR IGNORE INTO relay_schema (version, applied_at) VALUES (?, ?)")
      .bind(version, Date.now());
    await db.batch([...statements.map((statement) => db.prepare(statement)), note]);
  }
  migrated.add(db);
  return db;
}

/** Returns the size of the index database, in bytes. Reads no row. */
export async function sizeBytes(db: D1Database): Promise<number> {
  const database = await ready(db);
  return (await database.prepare("SELECT 1").run()).meta.size_after;
}
