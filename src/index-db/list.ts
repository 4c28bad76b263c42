import { ready } from "./database.ts";

/** What a list is narrowed to; times in Unix milliseconds, `since` included, `until` not. */
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

/** The place of a row in the list, which goes from the newest to the oldest. */
export interface Position {
  readonly createdAt: number;
  readonly id: string;
}

export interface ListedTask {
  readonly id: string;
  readonly account: string | null;
  readonly model: string;
  readonly provider: string | null;
  readonly status: string;
  readonly callback: string | null;
  readonly attempts: number;
  readonly last_outcome: string | null;
  readonly last_status_code: number | null;
  readonly host: string | null;
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly settled_at: number | null;
}

export interface Page {
  readonly tasks: readonly ListedTask[];
  /** Where the next page begins; null: this was the last one. */
  readonly next: Position | null;
}

/** Rows that one page looks at: a filter that fits nothing must not read a million of them. */
export const MAX_SCANNED = 10_000;

const SHOWN =
  "id, account, model, provider, status, callback, attempts, last_outcome, last_status_code, host, created_at, completed_at, settled_at, expires_at";
const EQUALS = ["status", "callback", "model", "provider", "account", "host"] as const;
const BY_ACCOUNT = "INDEXED BY tasks_of_account";
const NEWEST_FIRST = "ORDER BY created_at DESC, id DESC";

export interface Query {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/**
 * One page, newest first. It may be short although more follow, when few of the rows that it looked at
 * fit: only `next` tells the end.
 */
export async function listTasks(
  db: D1Database,
  filters: Filters,
  after: Position | null,
  limit: number,
): Promise<Page> {
  const database = await ready(db);
  const fitting = filterPage(candidateRows(SHOWN, filters, after), filters, limit, Date.now());
  const { results } = await database
    .prepare(fitting.sql)
    .bind(...fitting.values)
    .all<ListedTask & Record<string, unknown>>();
  const last =
    results.length === limit ? results.at(-1) : await lastScannedRow(database, filters, after);
  return { tasks: results, next: last ? { createdAt: last.created_at, id: last.id } : null };
}

/** The last row that a short page has looked at; null: it has seen them all. */
async function lastScannedRow(database: D1Database, filters: Filters, after: Position | null) {
  const { sql, values } = candidateRows("created_at, id", filters, after);
  return database
    .prepare(`SELECT created_at, id FROM (${sql}) LIMIT 1 OFFSET ${MAX_SCANNED - 1}`)
    .bind(...values)
    .first<{ created_at: number; id: string }>();
}

/** The rows to look at, through the index that holds the fewest. */
export function candidateRows(columns: string, filters: Filters, after: Position | null): Query {
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
  const hint = account === null ? (isFailed ? "INDEXED BY tasks_failed" : "") : BY_ACCOUNT;
  return {
    sql: `SELECT ${columns} FROM tasks ${hint} WHERE ${where} ${NEWEST_FIRST} LIMIT ${MAX_SCANNED}`,
    values: used.flatMap(([, values]) => values),
  };
}

function filterPage(scanned: Query, filters: Filters, limit: number, now: number): Query {
  const wanted = EQUALS.flatMap((name) => {
    const value = filters[name];
    return value === null ? [] : [{ sql: `${name} = ?`, value }];
  });
  const conditions = ["(expires_at IS NULL OR expires_at > ?)", ...wanted.map(({ sql }) => sql)];
  return {
    sql: `SELECT ${SHOWN} FROM (${scanned.sql}) WHERE ${conditions.join(" AND ")} ${NEWEST_FIRST} LIMIT ?`,
    values: [...scanned.values, now, ...wanted.map(({ value }) => value), limit],
  };
}
