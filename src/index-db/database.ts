import { errorText, log } from "../lib/log.ts";
import { MIGRATIONS } from "./migrations.ts";

/**
 * Time limit for a write to the index, in milliseconds; other work, such as the answer to a request, waits no
 * longer for it.
 */
export const INDEX_TIMEOUT_MS = 2_000;
/** Time limit for a query of the index by a request, in milliseconds. */
export const QUERY_TIMEOUT_MS = 10_000;

const VERSIONS = `CREATE TABLE IF NOT EXISTS relay_schema (
  version INTEGER NOT NULL PRIMARY KEY,
  applied_at INTEGER NOT NULL
) STRICT`;

/**
 * Pattern of D1's error for a statement that needs a table, a column or an index which the database does not
 * have yet.
 */
const SCHEMA_FAULT = /no such (table|column|index)|has no column named/;

// Databases that this isolate has migrated. The set holds no promises: a request must not await a promise of
// another.
const migrated = new WeakSet<D1Database>();

/**
 * Runs `work` on a database of the index. When it fails because a table, a column or a database index is missing,
 * applies the missing migrations and runs `work` again. Each isolate does this at most once for a database; looking
 * for missing migrations before every use would cost two round trips.
 * @param work must be repeatable.
 */
export async function onSchema<T>(
  db: D1Database,
  work: (db: D1Database) => Promise<T>,
): Promise<T> {
  try {
    return await work(db);
  } catch (error) {
    if (migrated.has(db) || !SCHEMA_FAULT.test(errorText(error))) throw error;
    return work(await ready(db));
  }
}

/** Largest number of queries that `ready` makes where no migration is missing. */
export const READY_QUERIES = 2;

/**
 * Returns the database after applying the missing migrations, for work that may wait for that; only the first
 * call in an isolate looks for them.
 */
export async function ready(db: D1Database): Promise<D1Database> {
  if (migrated.has(db)) return db;
  await db.prepare(VERSIONS).run();
  const applied = await appliedVersion(db);
  for (const [index, statements] of MIGRATIONS.entries()) {
    if (index + 1 > applied) await migrate(db, index + 1, statements);
  }
  migrated.add(db);
  return db;
}

/**
 * Applies one migration, in a transaction. A failure counts as success when another isolate has applied the
 * migration in the meantime: a column cannot be added twice.
 */
async function migrate(
  db: D1Database,
  version: number,
  statements: readonly string[],
): Promise<void> {
  const note = db
    .prepare("INSERT OR IGNORE INTO relay_schema (version, applied_at) VALUES (?, ?)")
    .bind(version, Date.now());
  try {
    await db.batch([...statements.map((statement) => db.prepare(statement)), note]);
  } catch (error) {
    if ((await appliedVersion(db)) < version) throw error;
  }
}

async function appliedVersion(db: D1Database): Promise<number> {
  const row = await db
    .prepare("SELECT max(version) AS version FROM relay_schema")
    .first<{ version: number | null }>();
  return row?.version ?? 0;
}

/**
 * Length in characters of the text that `takesRows` writes as a test: such a text needs a free page of the
 * database, which a full database does not have.
 */
const PAGE_LENGTH = 8_192;
const TRY_ROW = [
  `INSERT OR REPLACE INTO counters (hour, name, tasks) VALUES (0, printf('%${PAGE_LENGTH}d', 0), 0)`,
  "DELETE FROM counters WHERE hour = 0",
];

/**
 * Tells whether the database takes rows at present: writes one and deletes it, for two billed rows. The row is
 * long, so that a full database refuses it.
 */
export async function takesRows(db: D1Database): Promise<boolean> {
  try {
    const database = await ready(db);
    await database.batch(TRY_ROW.map((statement) => database.prepare(statement)));
    return true;
  } catch (error) {
    log({ event: "index.unreachable", part: "try_row", error: errorText(error) }, "warn");
    return false;
  }
}

/**
 * Returns a session of the database for reads that need not see the latest writes: D1 answers from the
 * nearest replica, if there are any.
 */
export function nearest(db: D1Database): D1DatabaseSession {
  return db.withSession("first-unconstrained");
}

/** Returns the size of a database of the index, in bytes. The query reads no row. */
export async function sizeBytes(db: D1Database): Promise<number> {
  return (await db.prepare("SELECT 1").run()).meta.size_after;
}
