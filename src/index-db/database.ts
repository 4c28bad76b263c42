import { errorText, log } from "../lib/log.ts";
import { FIRST_VERSION, SCHEMA } from "./schema.ts";
import type { IndexDatabase, IndexSession } from "./index-database.ts";

/**
 * Time limit for a write to the index, in milliseconds. Other work, such as the answer to a request, does not wait
 * longer for the write.
 */
export const INDEX_TIMEOUT_MS = 2_000;
/** Time limit for a query of the index that a request causes, in milliseconds. */
export const QUERY_TIMEOUT_MS = 10_000;

const VERSIONS = `CREATE TABLE IF NOT EXISTS relay_schema (
  version INTEGER NOT NULL PRIMARY KEY,
  applied_at INTEGER NOT NULL
) STRICT`;

/**
 * Pattern of the error with which D1 says that a statement needs a table, a column or a database index that does not
 * exist yet.
 */
const SCHEMA_FAULT = /no such (table|column|index)|has no column named/;

/** Error for a database whose index was stored by a build before 1.0.0, which this build cannot read. */
export class EarlierBuildError extends Error {
  override readonly name = "EarlierBuildError";

  constructor() {
    super(
      "A build before 1.0.0 has stored this index, and no release reads it. Bind a fresh database.",
    );
  }
}

// Databases whose schema this isolate knows to be complete. The set holds no promises: a request must not await a
// promise of another.
const complete = new WeakSet<IndexDatabase>();

/**
 * Runs `work` on a database of the index. When it fails because a table, a column or a database index is missing, the
 * missing steps of the schema are applied, and `work` is run again. Each isolate does this at most once for a database;
 * to look for missing steps before every use would cost two round trips.
 * @param work must be repeatable.
 * @throws EarlierBuildError when an earlier build has stored the database.
 */
export async function onSchema<T>(
  db: IndexDatabase,
  work: (db: IndexDatabase) => Promise<T>,
  steps = SCHEMA,
): Promise<T> {
  try {
    return await work(db);
  } catch (error) {
    if (complete.has(db) || !SCHEMA_FAULT.test(errorText(error))) throw error;
    return work(await ready(db, steps));
  }
}

/** Largest number of queries that `ready` makes on a database in which no step of the schema is missing. */
export const READY_QUERIES = 2;

/**
 * Returns the database after applying the missing steps of the schema. Only the first call in an isolate looks for
 * missing steps. Steps of a later release, which this build does not know, change nothing.
 * @throws EarlierBuildError when an earlier build has stored the database.
 */
export async function ready(db: IndexDatabase, steps = SCHEMA): Promise<IndexDatabase> {
  if (complete.has(db)) return db;
  await db.prepare(VERSIONS).run();
  const applied = await appliedVersion(db);
  for (const [index, statements] of steps.entries()) {
    const version = FIRST_VERSION + index;
    if (version > applied) await applyStep(db, version, statements);
  }
  complete.add(db);
  return db;
}

/**
 * Applies one step of the schema, in a transaction. A failure counts as success when another isolate has applied the
 * step in the meantime: a column cannot be added twice.
 */
async function applyStep(
  db: IndexDatabase,
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

/**
 * Returns the number of the latest step of the schema that was applied to a database; 0 for a new database.
 * @throws EarlierBuildError when an earlier build has stored the database.
 */
async function appliedVersion(db: IndexDatabase): Promise<number> {
  const row = await db
    .prepare("SELECT min(version) AS first, max(version) AS last FROM relay_schema")
    .first<{ readonly first: number | null; readonly last: number | null }>();
  if (row?.first != null && row.first < FIRST_VERSION) throw new EarlierBuildError();
  return row?.last ?? 0;
}

/**
 * Length in characters of the test text that `takesRows` writes. A text of this length needs a free page of the
 * database, which a full database does not have.
 */
const PAGE_LENGTH = 8_192;
const TRY_ROW = [
  `INSERT OR REPLACE INTO counts (run, kind, hour, key1, key2, key3, number, sum)
   VALUES ('', 'try', 0, printf('%${PAGE_LENGTH}d', 0), '', '', 0, 0)`,
  "DELETE FROM counts WHERE run = '' AND kind = 'try'",
];

/**
 * Tells whether a database of the index accepts rows at present. It writes a test row and deletes it again; D1 bills
 * this as two rows. The test row is so long that a full database refuses it.
 */
export async function takesRows(db: IndexDatabase): Promise<boolean> {
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
export function nearest(db: IndexDatabase): IndexSession {
  return db.withSession("first-unconstrained");
}

/** Returns the size of a database of the index, in bytes. The query reads no row. */
export async function sizeBytes(db: IndexDatabase): Promise<number> {
  return (await db.prepare("SELECT 1").run()).meta.size_after;
}
