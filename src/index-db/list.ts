import type { IndexRow } from "../core/views/index-row.ts";
import { OPEN_CALLBACK_STATUSES } from "../core/record/callback.ts";
import { columnOf, type RowField } from "./index-row-columns.ts";
import { nearest, onSchema } from "./database.ts";
import type { IndexDatabase, IndexSession } from "./index-database.ts";

/**
 * Filters of a list of tasks. Times are Unix milliseconds; `since` is inclusive, `until` exclusive. Null means that the
 * filter is not set.
 */
export interface Filters {
  readonly status: string | null;
  /** Filter for the category of a failure; `unknown` stands for failed tasks without a known category. */
  readonly category: string | null;
  /** Filter for the state of the submission. Tasks whose job the relay has not submitted do not match. */
  readonly submission: string | null;
  /** Filter for the class of the refusal, for tasks that have failed because their submission was refused. */
  readonly refusal: string | null;
  /** Filter for tasks with an output that the relay could not copy: `lost`. */
  readonly outputs: string | null;
  /** Filter for the status of the callback; `open` stands for those of callbacks that go on. */
  readonly callback: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly account: string | null;
  readonly host: string | null;
  /** Filter for the outcome of the last attempt of the callback, e.g. `timeout`. */
  readonly outcome: string | null;
  /** Filter for the HTTP status with which the receiver has answered the last attempt of the callback. */
  readonly statusCode: number | null;
  /** Filter for the provider's id of the job. */
  readonly job: string | null;
  readonly since: number | null;
  readonly until: number | null;
}

/** Filters of a list that match every task. */
export const ANY_TASK: Filters = {
  status: null,
  category: null,
  submission: null,
  refusal: null,
  outputs: null,
  callback: null,
  model: null,
  provider: null,
  account: null,
  host: null,
  outcome: null,
  statusCode: null,
  job: null,
  since: null,
  until: null,
};

/**
 * Position in the list of tasks, which goes from the newest to the oldest. It is given by the creation time and the id
 * of one task. Clients get it as a signed cursor (api/search/cursor.ts).
 */
export interface Position {
  /** Time at which the task was created, in Unix milliseconds. */
  readonly createdAt: number;
  readonly id: string;
}

/** Fields of an index row that the answer to a list request shows. */
const LISTED = [
  "id",
  "account",
  "model",
  "provider",
  "job",
  "status",
  "category",
  "submission",
  "refusal",
  "callback",
  "attempts",
  "lastOutcome",
  "lastStatusCode",
  "host",
  "createdAt",
  "completedAt",
  "finishedAt",
  "creditsHeld",
  "creditsEarned",
  "creditsReleased",
  "creditsRefunded",
  "settledAt",
] as const satisfies readonly RowField[];

export type ListedTask = Pick<IndexRow, (typeof LISTED)[number]>;

export interface Page {
  readonly tasks: readonly ListedTask[];
  /** Position in the list after which the next page begins; null on the last page. */
  readonly next: Position | null;
}

interface Query {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/**
 * Largest number of rows that the query for one page reads, so that a filter that matches few tasks does not
 * read the whole index.
 */
const MAX_SCANNED = 10_000;

const COLUMNS = [...LISTED.map(columnOf), "lost_outputs", "expires_at"].join(", ");
const SHOWN = LISTED.map((field) => `${columnOf(field)} AS ${field}`).join(", ");
/** Filters that require that a column or an expression equals a value. */
const EQUALS = [
  ["status", "status"],
  ["category", "coalesce(category, iif(status = 'failed', 'unknown', NULL))"],
  ["submission", "submission"],
  ["refusal", "refusal"],
  ["outputs", "iif(lost_outputs > 0, 'lost', NULL)"],
  ["model", "model"],
  ["provider", "provider"],
  ["account", "account"],
  ["host", "host"],
  ["outcome", "last_outcome"],
  ["statusCode", "last_status_code"],
  ["job", "job"],
] as const;
const NEWEST_FIRST = "ORDER BY created_at DESC, id DESC";

/**
 * Lists one page of tasks, newest first. Because one page reads a limited number of rows, it may have fewer tasks than
 * `limit`, or none, although later rows match the filters. The list has ended only when `next` is null.
 */
export async function listTasks(
  db: IndexDatabase,
  filters: Filters,
  after: Position | null,
  limit: number,
): Promise<Page> {
  return onSchema(db, () => readPage(nearest(db), filters, after, limit));
}

async function readPage(
  database: IndexSession,
  filters: Filters,
  after: Position | null,
  limit: number,
): Promise<Page> {
  const candidates = candidateRows(COLUMNS, filters, after);
  const { sql, values } = filterPage(candidates, filters, limit, Date.now());
  const { results: tasks } = await database
    .prepare(sql)
    .bind(...values)
    .all<ListedTask>();
  const isFull = tasks.length === limit;
  const last = isFull ? tasks.at(-1) : await lastScannedRow(database, filters, after);
  return { tasks, next: last ? { createdAt: last.createdAt, id: last.id } : null };
}

/** Number of tasks in a list. */
export interface TaskCount {
  readonly count: number;
  /** True when there are rows after those that were examined, so that there may be more tasks. */
  readonly isCapped: boolean;
}

/** Counts the tasks of a list after a position. Only the newest 10,000 rows after it are examined. */
export function countTasks(
  db: IndexDatabase,
  filters: Filters,
  after: Position | null,
): Promise<TaskCount> {
  // One more row is read, only to learn whether there is one.
  const candidates = candidateRows(COLUMNS, filters, after, MAX_SCANNED + 1);
  const wanted = conditionOf(filters, Date.now());
  const sql = `SELECT count(*) AS rows, count(CASE WHEN place <= ${MAX_SCANNED} AND ${wanted.sql} THEN 1 END) AS count
               FROM (SELECT *, row_number() OVER () AS place FROM (${candidates.sql}))`;
  return onSchema(db, async () => {
    const row = await nearest(db)
      .prepare(sql)
      .bind(...wanted.values, ...candidates.values)
      .first<{ readonly rows: number; readonly count: number }>();
    return { count: row?.count ?? 0, isCapped: (row?.rows ?? 0) > MAX_SCANNED };
  });
}

/**
 * Returns the position of the last row that was read for a page with fewer tasks than `limit`. Null when all rows to
 * the end of the list were read.
 */
async function lastScannedRow(database: IndexSession, filters: Filters, after: Position | null) {
  const { sql, values } = candidateRows("created_at, id", filters, after);
  return database
    .prepare(`SELECT created_at AS createdAt, id FROM (${sql}) LIMIT 1 OFFSET ${MAX_SCANNED - 1}`)
    .bind(...values)
    .first<{ createdAt: number; id: string }>();
}

/**
 * Builds the query for the rows from which the tasks of a page are selected. It uses the smallest database index that
 * contains all these rows.
 */
function candidateRows(
  columns: string,
  filters: Filters,
  after: Position | null,
  limit = MAX_SCANNED,
): Query {
  const { account, since, until } = filters;
  const [index, ofIndex] = partialIndex(filters);
  const parts: readonly (readonly [string, readonly (string | number)[]] | null)[] = [
    account === null ? null : ["account = ?", [account]],
    ofIndex === null ? null : [ofIndex, []],
    since === null ? null : ["created_at >= ?", [since]],
    until === null ? null : ["created_at < ?", [until]],
    after === null ? null : ["(created_at, id) < (?, ?)", [after.createdAt, after.id]],
  ];
  const used = parts.filter((part) => part !== null);
  const where = used.map(([sql]) => sql).join(" AND ") || "true";
  return {
    sql: `SELECT ${columns} FROM index_rows ${index} WHERE ${where}
          ${NEWEST_FIRST} LIMIT ${limit}`,
    values: used.flatMap(([, values]) => values),
  };
}

/**
 * Returns the SQL hint that names the smallest database index which contains all tasks of a list, and the SQL condition
 * that all rows in this database index fulfil. The hint is empty when the primary key must be used. The condition is
 * then null; it is also null when the filter by account already states it.
 */
function partialIndex({
  account,
  callback,
  submission,
  outputs,
}: Filters): readonly [string, string | null] {
  if (account !== null) return ["INDEXED BY tasks_of_account", null];
  if (submission === "unknown") {
    return ["INDEXED BY tasks_submit_unknown", "submission = 'unknown'"];
  }
  if (outputs === "lost") return ["INDEXED BY tasks_outputs_lost", "lost_outputs > 0"];
  return callback === "failed" ? ["INDEXED BY tasks_failed", "callback = 'failed'"] : ["", null];
}

/**
 * Builds the query that selects the tasks of a page from the rows that `candidates` reads: those that match all filters
 * and have not expired.
 */
function filterPage(candidates: Query, filters: Filters, limit: number, now: number): Query {
  const wanted = conditionOf(filters, now);
  return {
    sql: `SELECT ${SHOWN} FROM (${candidates.sql}) WHERE ${wanted.sql} ${NEWEST_FIRST} LIMIT ?`,
    values: [...candidates.values, ...wanted.values, limit],
  };
}

/**
 * Builds the SQL condition which says that a row matches all filters and has not expired. The callback `open` stands for
 * all statuses of a callback that is being sent.
 */
function conditionOf(filters: Filters, now: number): Query {
  const { callback } = filters;
  const callbacks =
    callback === "open" ? OPEN_CALLBACK_STATUSES : callback === null ? [] : [callback];
  const wanted = EQUALS.flatMap(([name, column]) => {
    const value = filters[name];
    return value === null ? [] : [{ sql: `${column} = ?`, value }];
  });
  const ofCallback =
    callbacks.length === 0 ? [] : [`callback IN (${callbacks.map(() => "?").join(", ")})`];
  const conditions = [
    "(expires_at IS NULL OR expires_at > ?)",
    ...wanted.map(({ sql }) => sql),
    ...ofCallback,
  ];
  const values = [now, ...wanted.map(({ value }) => value), ...callbacks];
  return { sql: conditions.join(" AND "), values };
}
