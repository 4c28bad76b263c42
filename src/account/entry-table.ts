import type { Entry, EntryKind } from "../core/ledger.ts";
import type { SqlRow } from "./sql-row.ts";

/** A ledger entry as it is stored. */
export interface StoredEntry extends Entry {
  /** Position of the entry in the ledger; rises with every entry. */
  readonly seq: number;
  readonly taskId: string | null;
  /** Time at which the entry was booked, in Unix milliseconds. */
  readonly createdAt: number;
}

const SCHEMA = `
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    reference TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    balance INTEGER NOT NULL CHECK (balance >= 0),
    task_id TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (kind, reference)
  ) STRICT`;
const ENTRY = "seq, kind, reference, amount, balance, task_id AS taskId, created_at AS createdAt";
const BALANCE = "SELECT balance FROM entries ORDER BY seq DESC LIMIT 1";
const FIND = `SELECT ${ENTRY} FROM entries WHERE kind = ? AND reference = ?`;
const PAGE = `SELECT ${ENTRY} FROM entries WHERE seq < ? ORDER BY seq DESC LIMIT ?`;
const GRANTS = `
  SELECT ${ENTRY} FROM entries WHERE seq < ? AND kind = 'grant' ORDER BY seq DESC LIMIT ?`;
const INSERT = `
  INSERT INTO entries (kind, reference, amount, balance, task_id, created_at)
  VALUES (?, ?, ?, ?, ?, ?)`;
/** Query for the last entry that is older than `?1`, among the first `?2` entries. */
const LAST_OLD = `
  SELECT ${ENTRY} FROM (SELECT * FROM entries ORDER BY seq LIMIT ?2)
  WHERE created_at < ?1 ORDER BY seq DESC LIMIT 1`;
const DELETE_UP_TO = "DELETE FROM entries WHERE seq <= ?";
const INSERT_OPENING = `
  INSERT INTO entries (seq, kind, reference, amount, balance, created_at)
  VALUES (?1, 'opening', 'opening', ?2, ?2, ?3)`;

/** Number of entries that one call of `compact` replaces, so that other calls need not wait for long. */
const COMPACT_AT_ONCE = 5_000;

/** Table `entries` of an account object, which stores its ledger. The table exists only after `create`. */
export class EntryTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(SCHEMA);
  }

  /** Returns the balance of the account after the newest entry. */
  balance(): number {
    const [newest] = this.#sql.exec<{ balance: number }>(BALANCE);
    return newest?.balance ?? 0;
  }

  find(kind: EntryKind, reference: string): StoredEntry | null {
    const [entry] = this.#sql.exec<SqlRow<StoredEntry>>(FIND, kind, reference);
    return entry ?? null;
  }

  insert({ kind, reference, amount, balance }: Entry, taskId: string | null, now: number): void {
    this.#sql.exec(INSERT, kind, reference, amount, balance, taskId, now);
  }

  /** Returns ledger entries before position `before`, newest first: all kinds, or only the grants. */
  page(kind: "grant" | null, before: number, limit: number): StoredEntry[] {
    const query = kind === null ? PAGE : GRANTS;
    return this.#sql.exec<SqlRow<StoredEntry>>(query, before, limit).toArray();
  }

  /**
   * Replaces a batch of the entries older than `time` by one opening entry with their balance.
   * @param time in Unix milliseconds.
   * @returns true when there may be more entries to replace.
   */
  compact(time: number): boolean {
    const [last] = this.#sql.exec<SqlRow<StoredEntry>>(LAST_OLD, time, COMPACT_AT_ONCE);
    if (last === undefined || last.kind === "opening") return false;
    this.#sql.exec(DELETE_UP_TO, last.seq);
    this.#sql.exec(INSERT_OPENING, last.seq, last.balance, last.createdAt);
    return true;
  }
}
