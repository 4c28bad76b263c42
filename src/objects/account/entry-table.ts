import type { BookedEntry, Entry, EntryKind } from "../../core/ledger.ts";
import { monthStart } from "../../core/time.ts";

/**
 * Data of a ledger entry that do not affect the balance: the task of a charge, a refund or a release, the model of the
 * task of a charge, the reason of an adjustment, and the name of the API key that ordered the entry. A field that is
 * absent is stored as null.
 */
export interface Annotation {
  readonly taskId?: string | null;
  readonly model?: string | null;
  readonly reason?: string | null;
  readonly bookedBy?: string | null;
}

/** A ledger entry as stored in a row of the table `entries`: the booking with its number, time and annotation. */
export interface StoredEntry extends BookedEntry {
  /** Number of the entry in the ledger. Each entry has a higher number than all earlier entries. */
  readonly seq: number;
  readonly taskId: string | null;
  /** Reason of an adjustment; null for other entries. */
  readonly reason: string | null;
  /**
   * Name of the API key that ordered a grant or an adjustment, or that registered the task of a charge. Null when there
   * was no such key, and for other entries.
   */
  readonly bookedBy: string | null;
}

/** Row of the table `entries`, in which the ledger is stored. The last two columns are null in entries
 * of a release that did not have them; `month_spent` also in an opening. */
type Row = Record<"kind" | "reference", string> &
  Record<"seq" | "amount" | "balance" | "created_at", number> &
  Record<"task_id" | "reason" | "booked_by" | "model", string | null> & {
    kind: EntryKind;
    month_spent: number | null;
  };

type NewestRow = Pick<Row, "balance" | "created_at" | "month_spent">;

/** The newest entry of a ledger, as far as it decides about the next one. */
type NewestEntry = Pick<Entry, "balance" | "monthSpent" | "createdAt">;

const SCHEMA = `
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    reference TEXT NOT NULL,
    amount INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    task_id TEXT,
    created_at INTEGER NOT NULL,
    reason TEXT,
    booked_by TEXT,
    month_spent INTEGER,
    model TEXT,
    UNIQUE (kind, reference)
  ) STRICT`;
const INSERT = `
  INSERT INTO entries (
    kind, reference, amount, balance, month_spent, created_at, task_id, model, reason, booked_by
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`;
/** SQL statements that add the columns which the table of an earlier release lacks. Its entries have null there. */
const ADD_COLUMNS = `
  ALTER TABLE entries ADD COLUMN month_spent INTEGER;
  ALTER TABLE entries ADD COLUMN model TEXT`;
const HAS_COLUMNS = "SELECT 1 FROM pragma_table_info('entries') WHERE name = 'model'";
const NEWEST = "SELECT balance, month_spent, created_at FROM entries ORDER BY seq DESC LIMIT 1";
/**
 * SQL query for what the charges since the time `?1` cost. It is needed only where the newest entry does not state it,
 * because an earlier release has booked it.
 */
const SPENT_SINCE = `
  SELECT coalesce(sum(amount - (
    SELECT coalesce(sum(returns.amount), 0) FROM entries AS returns
    WHERE returns.kind IN ('refund', 'release') AND returns.reference = charges.reference
  )), 0) AS spent
  FROM entries AS charges WHERE kind = 'charge' AND created_at >= ?1`;
const FIND = "SELECT * FROM entries WHERE kind = ? AND reference = ?";
const PAGE = "SELECT * FROM entries WHERE seq < ? ORDER BY seq DESC LIMIT ?";
const GRANTS = "SELECT * FROM entries WHERE seq < ? AND kind = 'grant' ORDER BY seq DESC LIMIT ?";
/**
 * SQL query for the ids of at most `?2` tasks, newest charge first, whose charges were booked after the time `?1` and
 * of whose credits nothing was given back since (by a refund or a release). It reads the ledger from the newest entry
 * back to the first entry that is too old.
 */
const RECENTLY_CHARGED = `
  SELECT task_id AS taskId FROM entries AS charges NOT INDEXED
  WHERE seq > coalesce((SELECT seq FROM entries WHERE created_at <= ?1 ORDER BY seq DESC LIMIT 1), 0)
    AND kind = 'charge' AND task_id IS NOT NULL
    AND NOT EXISTS (
      SELECT 1 FROM entries AS returns
      WHERE returns.kind IN ('refund', 'release') AND returns.reference = charges.reference
    )
  ORDER BY seq DESC LIMIT ?2`;
/**
 * SQL query for the last ledger entry that was booked before the time `?1`. Only the oldest `?2` entries are searched,
 * to limit the work of one call.
 */
const LAST_OLD = `
  SELECT * FROM (SELECT * FROM entries ORDER BY seq LIMIT ?2)
  WHERE created_at < ?1 ORDER BY seq DESC LIMIT 1`;
const DELETE_UP_TO = "DELETE FROM entries WHERE seq <= ?";
const INSERT_OPENING = `
  INSERT INTO entries (seq, kind, reference, amount, balance, created_at)
  VALUES (?1, 'opening', 'opening', ?2, ?2, ?3)`;

/**
 * Largest number of old ledger entries that one call replaces by a single entry. It is limited, so that other calls
 * to the account's object do not have to wait long.
 */
const COMPACT_AT_ONCE = 5_000;

/**
 * The ledger of an account: the table `entries` of the account's object. The table exists only after `create` was
 * called.
 */
export class EntryTable {
  readonly #sql: SqlStorage;
  #hasColumns = false;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(SCHEMA);
  }

  /** Returns the newest entry; null when there are no entries. */
  newest(): NewestEntry | null {
    const [row] = this.#exec<NewestRow>(NEWEST);
    if (row === undefined) return null;
    const { balance, month_spent: stated, created_at: createdAt } = row;
    return { balance, monthSpent: stated ?? this.#spentSince(monthStart(createdAt)), createdAt };
  }

  find(kind: EntryKind, reference: string): StoredEntry | null {
    const [entry] = this.#read(FIND, kind, reference);
    return entry ?? null;
  }

  /** Stores an entry. @returns its number. */
  insert(entry: Entry, annotation: Annotation): number {
    const { kind, reference, amount, balance, monthSpent, createdAt } = entry;
    const { taskId = null, model = null, reason = null, bookedBy = null } = annotation;
    const decided = [kind, reference, amount, balance, monthSpent, createdAt];
    const values = [...decided, taskId, model, reason, bookedBy];
    return this.#exec<{ seq: number }>(INSERT, ...values).one().seq;
  }

  /**
   * Returns at most `limit` ledger entries with numbers below `before`, newest first. With `grant` as `kind` only
   * grants are returned; with null entries of all kinds.
   */
  page(kind: "grant" | null, before: number, limit: number): StoredEntry[] {
    return this.#read(kind === null ? PAGE : GRANTS, before, limit);
  }

  /**
   * Returns the ids of at most `limit` tasks, newest charge first, whose charges were booked after `time` and of whose
   * credits nothing was given back since (by a refund or a release).
   * @param time in Unix milliseconds.
   */
  recentlyCharged(time: number, limit: number): string[] {
    const rows = this.#exec<{ taskId: string }>(RECENTLY_CHARGED, time, limit);
    return Array.from(rows, ({ taskId }) => taskId);
  }

  /**
   * Replaces the oldest ledger entries that were booked before `time` by one entry of the kind `opening`, which
   * states the balance after them. One call replaces at most `COMPACT_AT_ONCE` entries.
   * @param time in Unix milliseconds.
   * @returns true when there may be more entries to replace.
   */
  compact(time: number): boolean {
    const [last] = this.#read(LAST_OLD, time, COMPACT_AT_ONCE);
    if (last === undefined || last.kind === "opening") return false;
    this.#exec(DELETE_UP_TO, last.seq);
    this.#exec(INSERT_OPENING, last.seq, last.balance, last.createdAt);
    return true;
  }

  #spentSince(time: number): number {
    const [row] = this.#exec<{ spent: number }>(SPENT_SINCE, time);
    return row?.spent ?? 0;
  }

  #read(query: string, ...values: readonly SqlStorageValue[]): StoredEntry[] {
    return Array.from(this.#exec<Row>(query, ...values), (row) => {
      const { kind, reference, amount, balance, seq, reason } = row;
      const { task_id: taskId, created_at: createdAt, booked_by: bookedBy } = row;
      return { kind, reference, amount, balance, seq, reason, taskId, bookedBy, createdAt };
    });
  }

  #exec<Result extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: readonly SqlStorageValue[]
  ): SqlStorageCursor<Result> {
    if (!this.#hasColumns && this.#sql.exec(HAS_COLUMNS).toArray().length === 0) {
      this.#sql.exec(ADD_COLUMNS);
    }
    this.#hasColumns = true;
    return this.#sql.exec<Result>(query, ...values);
  }
}
