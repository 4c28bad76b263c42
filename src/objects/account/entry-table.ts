import type { BookedEntry, Entry, EntryKind } from "../../core/ledger.ts";

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

/** Row of the table `entries`, in which the ledger is stored. */
type Row = Record<"seq" | "amount" | "balance" | "month_spent" | "created_at", number> &
  Record<"task_id" | "reason" | "booked_by" | "model", string | null> & {
    kind: EntryKind;
    reference: string;
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
    month_spent INTEGER NOT NULL,
    model TEXT,
    UNIQUE (kind, reference)
  ) STRICT`;
const INSERT = `
  INSERT INTO entries (
    kind, reference, amount, balance, month_spent, created_at, task_id, model, reason, booked_by
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`;
const NEWEST = "SELECT balance, month_spent, created_at FROM entries ORDER BY seq DESC LIMIT 1";
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
const DELETE_BEFORE = "DELETE FROM entries WHERE seq < ?";
/** SQL statement that turns an entry into an opening with the balance after this entry. */
const MAKE_OPENING = `
  UPDATE entries SET kind = 'opening', reference = 'opening', amount = balance,
    task_id = NULL, model = NULL, reason = NULL, booked_by = NULL
  WHERE seq = ?`;

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

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(SCHEMA);
  }

  /** Returns the newest entry; null when there are no entries. */
  newest(): NewestEntry | null {
    const [row] = this.#sql.exec<NewestRow>(NEWEST);
    if (row === undefined) return null;
    const { balance, month_spent: monthSpent, created_at: createdAt } = row;
    return { balance, monthSpent, createdAt };
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
    return this.#sql.exec<{ seq: number }>(INSERT, ...values).one().seq;
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
    const rows = this.#sql.exec<{ taskId: string }>(RECENTLY_CHARGED, time, limit);
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
    this.#sql.exec(DELETE_BEFORE, last.seq);
    this.#sql.exec(MAKE_OPENING, last.seq);
    return true;
  }

  #read(query: string, ...values: readonly SqlStorageValue[]): StoredEntry[] {
    return Array.from(this.#sql.exec<Row>(query, ...values), (row) => {
      const { kind, reference, amount, balance, seq, reason } = row;
      const { task_id: taskId, created_at: createdAt, booked_by: bookedBy } = row;
      return { kind, reference, amount, balance, seq, reason, taskId, bookedBy, createdAt };
    });
  }
}
