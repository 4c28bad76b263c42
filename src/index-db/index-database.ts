/** Value that a statement binds. */
export type SqlValue = string | number | null;

/** Rows that a statement has returned, and what it did. */
export interface IndexResult<T = unknown> {
  readonly results: readonly T[];
  readonly meta: {
    /** Number of rows that the statement has inserted, updated or deleted. */
    readonly changes: number;
    readonly rows_read: number;
    /** Size of the database after the statement, in bytes. */
    readonly size_after: number;
  };
}

/** Statement with its values. As with D1, `T` is what the caller knows of the rows of its SQL. */
export interface IndexStatement {
  bind(...values: readonly SqlValue[]): IndexStatement;
  first<T = Record<string, unknown>>(): Promise<T | null>;
  all<T = Record<string, unknown>>(): Promise<IndexResult<T>>;
  run<T = Record<string, unknown>>(): Promise<IndexResult<T>>;
}

/** Database of the index for reads that need not see the latest writes. */
export interface IndexSession {
  prepare(sql: string): IndexStatement;
  /** Runs statements one after the other in a transaction: when one fails, all are undone. */
  batch<T = unknown>(statements: readonly IndexStatement[]): Promise<readonly IndexResult<T>[]>;
}

/**
 * Database of the index: what the relay uses of a D1 database. A D1 database is one, and so is the SQLite database of
 * the index's own Durable Object (objects/index/object-database.ts).
 */
export interface IndexDatabase extends IndexSession {
  withSession(constraint: "first-unconstrained"): IndexSession;
}
