import { MIGRATIONS } from "./migrations.ts";

/** How long a write to the index may hold up other work. */
export const INDEX_TIMEOUT_MS = 2_000;

const VERSIONS = `CREATE TABLE IF NOT EXISTS relay_schema (
  version INTEGER NOT NULL PRIMARY KEY,
  applied_at INTEGER NOT NULL
) STRICT`;

// Values only: a promise of one request must not be awaited by another.
const migrated = new WeakSet<D1Database>();

/** The database with its newest schema: the first use in an isolate applies what is missing. */
export async function ready(db: D1Database): Promise<D1Database> {
  if (migrated.has(db)) return db;
  await db.prepare(VERSIONS).run();
  const known = await db
    .prepare("SELECT max(version) AS version FROM relay_schema")
    .first<{ version: number | null }>();
  for (const [index, statements] of MIGRATIONS.entries()) {
    const version = index + 1;
    if (version <= (known?.version ?? 0)) continue;
    const noted = db
      .prepare("INSERT OR IGNORE INTO relay_schema (version, applied_at) VALUES (?, ?)")
      .bind(version, Date.now());
    await db.batch([...statements.map((statement) => db.prepare(statement)), noted]);
  }
  migrated.add(db);
  return db;
}
