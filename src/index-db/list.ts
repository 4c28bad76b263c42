import type { IndexRow } from "../core/views/index-row.ts";
import { columnOf, type RowField } from "./columns.ts";
import { nearest, onSchema } from "./database.ts";

/**
 * Filters of a list of tasks. Times are Unix milliseconds, `since` inclusive, `until` exclusive; null means
 * that the filter is not set.
 */
export interface Filters {
  readonly status: string | null;
  readonly callback: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly account: string | null;
  readonly host: string | null;
  readonly since: number | null;
  readonly until: number | null;
}

/**
 * Position in the list of tasks, which runs from the newest to the oldest, given by the row of one task.
 * Clients get it as a signed cursor (api/search/cursor.ts).
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
  "status",
  "callback",
  "attempts",
  "lastOutcome",
  "lastStatusCode",
  "host",
  "createdAt",
  "completedAt",
  "finishedAt",
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

const COLUMNS = [...LISTED.map(columnOf), "expires_at"].join(", ");
const SHOWN = LISTED.map((field) => `${columnOf(field)} AS ${field}`).join(", ");
const EQUALS = ["status", "callback", "model", "provider", "account", "host"] as const;
const NEWEST_FIRST = "ORDER BY created_at DESC, id DESC";

/**
 * Lists one page of tasks, newest first. A page may have fewer tasks than `limit`, or none, although later
 * rows match the filters, because one page reads a limited number of rows. Only `next` being null shows that
 * the list has ended.
 */
export async function listTasks(
  db: D1Database,
  filters: Filters,
  after: Position | null,
  limit: number,
): Promise<Page> {
  return onSchema(db, () => readPage(nearest(db), filters, after, limit));
}

async function readPage(
  database: D1DatabaseSession,
  filters: Filters,
  after: Position | null,
  limit: number,
): Promise<Page> {
  const candidates = candidateRows(COLUMNS, filters, after);
  const { sql, values } = filterPage(candidates, filters, limit, Date.now());
  const { results: tasks } = await database
    .prepare(sql)
    .bind(...values)
    .all<ListedTask & Record<string, unknown>>();
  const isFull = tasks.length === limit;
  const last = isFull ? tasks.at(-1) : await lastScannedRow(database, filters, after);
  return { tasks, next: last ? { createdAt: last.createdAt, id: last.id } : null };
}

/**
 * Returns the position of the last row that was read for a page with fewer tasks than `limit`; null when the
 * page has read all rows to the end of the list.
 */
async function lastScannedRow(
  database: D1DatabaseSession,
  filters: Filters,
  after: Position | null,
) {
  const { sql, values } = candidateRows("created_at, id", filters, after);
  return database
    .prepare(`SELECT created_at AS createdAt, id FROM (${sql}) LIMIT 1 OFFSET ${MAX_SCANNED - 1}`)
    .bind(...values)
    .first<{ createdAt: number; id: string }>();
}

/**
 * Builds the query for the rows from which a page is selected, through the smallest database index that
 * contains them all.
 */
function candidateRows(columns: string, filters: Filters, after: Position | null): Query {
  const { account, callback, since, until } = filters;
  const isFailed = account === null && callback === "failed";
  const parts: readonly (readonly [string, readonly (string | number)[]] | null)[] = [
    account === null ? null : ["account = ?", [account]],
    isFailed ? ["callback = 'failed'", []] : null,
    since === null ? null : ["created_at >= ?", [since]],
    until === null ? null : ["created_at < ?", [until]],
    after === null ? null : ["(created_at, id) < (?, ?)", [after.createdAt, after.id]],
  ];
  const used = parts.filter((part) => part !== null);
  const where = used.map(([sql]) => sql).join(" AND ") || "true";
  return {
    sql: `SELECT ${columns} FROM tasks ${indexHint(account, isFailed)} WHERE ${where}
          ${NEWEST_FIRST} LIMIT ${MAX_SCANNED}`,
    values: used.flatMap(([, values]) => values),
  };
}

function indexHint(account: string | null, isFailed: boolean): string {
  if (account !== null) return "INDEXED BY tasks_of_account";
  return isFailed ? "INDEXED BY tasks_failed" : "";
}

/**
 * Builds the query that selects the tasks of a page: of the rows that `candidates` reads, those that match
 * all filters and have not expired.
 */
function filterPage(candidates: Query, filters: Filters, limit: number, now: number): Query {
  const wanted = EQUALS.flatMap((name) => {
    const value = filters[name];
    return value === null ? [] : [{ sql: `${name} = ?`, value }];
  });
  const conditions = ["(expires_at IS NULL OR expires_at > ?)", ...wanted.map(({ sql }) => sql)];
  return {
    sql: `SELECT ${SHOWN} FROM (${candidates.sql}) WHERE ${conditions.join(" AND ")}
          ${NEWEST_FIRST} LIMIT ?`,
    values: [...candidates.values, now, ...wanted.map(({ value }) => value), limit],
  };
}
