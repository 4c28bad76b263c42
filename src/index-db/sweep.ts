import { DAY_MS, HOUR_MS } from "../core/time.ts";
import type { TimeBudget } from "../lib/time-budget.ts";
import { onSchema } from "./database.ts";
import { planCheck } from "./expiry-checks.ts";
import type { Position } from "./list.ts";
import type { IndexDatabase } from "./index-database.ts";

export const ROWS_AT_ONCE = 5_000;
/**
 * Largest number of queries that a run of the cron trigger makes to delete expired rows, in addition to the queries of
 * its rounds (`ROUND_QUERIES`). These additional queries read and store how far the search for expired rows has come,
 * and delete old entries of the table `erased`.
 */
export const SWEEP_QUERIES = 5;
/** Largest number of queries of one round. A round deletes the expired rows among the next `ROWS_AT_ONCE` rows. */
export const ROUND_QUERIES = 4;
/** Longest time in milliseconds for which a queue of Cloudflare stores a message. */
const MAX_QUEUED_MS = 14 * DAY_MS;
/**
 * Time in milliseconds after which the search for expired index rows begins again with the oldest row.
 */
const PASS_MS = DAY_MS;
/**
 * Length in milliseconds of a range of creation times whose rows are read again in every run. The range ends at the
 * creation time of the youngest row that can have expired. A row expires one retention after the last change of its
 * task, and most tasks change last within an hour of their creation, so most rows expire while they are in this range.
 */
const SETTLING_MS = HOUR_MS;

const CURRENT_PASS = `
  SELECT started_at AS startedAt, created_at AS createdAt, id FROM expiry_searches
  WHERE started_at > ? ORDER BY started_at DESC LIMIT 1`;
const END_PASSES = "DELETE FROM expiry_searches WHERE started_at < ?";
const STORE_PASS =
  "INSERT OR REPLACE INTO expiry_searches (started_at, created_at, id) VALUES (?, ?, ?)";
/**
 * SQL query for a page of index rows after a position. Rows expire one retention after their creation at the earliest,
 * so younger rows are not read. There is no database index on `expires_at`, because writing an entry would cost as much
 * as reading 1,000 rows.
 */
const PAGE = `
  SELECT created_at AS createdAt, id, version, coalesce(expires_at <= ?2, 0) AS isExpired FROM index_rows
  WHERE created_at <= ?1 AND (created_at, id) > (?3, ?4)
  ORDER BY created_at, id LIMIT ${ROWS_AT_ONCE}`;
/**
 * SQL statement that deletes the rows in a JSON list, except those that were written again with a later expiry after
 * the list was read.
 */
const DELETE_EXPIRED = `
  DELETE FROM index_rows WHERE expires_at <= ?2 AND (created_at, id) IN (
    SELECT value ->> 'createdAt', value ->> 'id' FROM json_each(?1)
  )`;
const DELETE_ERASED = "DELETE FROM erased WHERE created_at < ?1 AND version < ?1";
const OLD_ERASED = "SELECT 1 FROM erased WHERE created_at < ? LIMIT 1";

interface ExaminedRow extends Position {
  /** Version of the task in its row. It is approximately the time of the task's last change, in Unix milliseconds. */
  readonly version: number;
  readonly isExpired: 0 | 1;
}

/**
 * One search of the index for expired rows, from the oldest row to the youngest that can have expired. It may
 * extend over several runs of the cron trigger, each of which reads only rows after the stored position.
 */
interface Pass extends Position {
  /** Time at which the search for expired rows began with the oldest row, in Unix milliseconds. */
  readonly startedAt: number;
}

/**
 * Retention of tasks (`retentionMs`) and of their index rows (`indexRetentionMs`), in milliseconds.
 */
export interface Retention {
  readonly retentionMs: number;
  readonly indexRetentionMs: number;
}

/**
 * Deletes the expired rows of a database of the index. This is needed because the Durable Objects of tasks do not
 * delete the rows when they erase the tasks. Also plans, for the end of the tasks' own retention, a check that the
 * objects have erased the tasks.
 *
 * Rows of failed callbacks and of open tasks stay longer than others. To avoid that every run reads them again, the
 * position up to which rows were read is stored; once a day a new search begins with the oldest row. The function also
 * deletes old entries of the table `erased`. Such an entry prevents a late message of the queue from writing the row of
 * an erased task again; it is no longer needed once the queue has dropped all messages of that time.
 *
 * Missing steps of the schema are not applied first: a full database can accept them only after rows have been deleted.
 * @param now current time, in Unix milliseconds.
 * @returns the number of deleted rows; null when the budget was too small to look for them.
 */
export async function removeExpired(
  db: IndexDatabase,
  retention: Retention,
  now: number,
  budget: TimeBudget,
): Promise<number | null> {
  if (!budget.take(SWEEP_QUERIES)) return null;
  return onSchema(db, (database) => removeRows(database, retention, now, budget));
}

async function removeRows(
  database: IndexDatabase,
  retention: Retention,
  now: number,
  budget: TimeBudget,
): Promise<number> {
  const current = await database
    .prepare(CURRENT_PASS)
    .bind(now - PASS_MS)
    .first<Pass>();
  const hasOldErased = current === null && (await removeOldErased(database, now));
  const pass = current ?? { startedAt: now, createdAt: 0, id: "" };
  const { removed, hasKept, last } = await removePages(database, pass, retention, now, budget);
  // When no read row stays in the index, the next run begins with the oldest row and reads no more than from a
  // stored position.
  if (hasKept || hasOldErased) {
    await database.batch([
      database.prepare(END_PASSES).bind(pass.startedAt),
      database.prepare(STORE_PASS).bind(pass.startedAt, last.createdAt, last.id),
    ]);
  }
  return removed;
}

/**
 * Deletes old entries of the table `erased`. This table lists erased tasks, whose rows no late message of the queue may
 * write again. An entry is old when the task was both created and erased longer ago than a queue stores a message.
 * @returns true when there are entries left of tasks that were created that long ago but erased later.
 */
async function removeOldErased(database: IndexDatabase, now: number): Promise<boolean> {
  const [, old] = await database.batch(
    [DELETE_ERASED, OLD_ERASED].map((sql) => database.prepare(sql).bind(now - MAX_QUEUED_MS)),
  );
  return (old?.results.length ?? 0) > 0;
}

/**
 * Deletes the expired rows that follow a position, page by page.
 * @returns the number of deleted rows; the position from which the next run continues; and whether rows before that
 * position were left in the index because they have not expired.
 */
async function removePages(
  database: IndexDatabase,
  after: Position,
  { retentionMs, indexRetentionMs }: Retention,
  now: number,
  budget: TimeBudget,
) {
  const youngest = now - indexRetentionMs;
  const settling: Position = { createdAt: youngest - SETTLING_MS, id: "" };
  let [removed, hasKept, isThrough, last] = [0, false, false, after];
  while (!isThrough && budget.take(ROUND_QUERIES)) {
    const { results: rows } = await database
      .prepare(PAGE)
      .bind(youngest, now, last.createdAt, last.id)
      .all<ExaminedRow>();
    const expired = rows.filter(({ isExpired }) => isExpired === 1);
    removed += await deleteRows(database, expired, retentionMs, now);
    hasKept ||= rows.some((row) => row.isExpired === 0 && row.createdAt < settling.createdAt);
    last = rows.at(-1) ?? last;
    isThrough = rows.length < ROWS_AT_ONCE;
  }
  return { removed, hasKept, last: last.createdAt < settling.createdAt ? last : settling };
}

/**
 * Deletes these expired rows, and in the same transaction stores the plan to check that their tasks are
 * erased.
 * @returns the number of deleted rows.
 */
async function deleteRows(
  database: IndexDatabase,
  rows: readonly ExaminedRow[],
  retentionMs: number,
  now: number,
): Promise<number> {
  if (rows.length === 0) return 0;
  const isOver = ({ version }: ExaminedRow) => version + retentionMs <= now;
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

function idsOf(rows: readonly ExaminedRow[]): readonly string[] {
  return rows.map(({ id }) => id);
}
