import type { Entry, EntryKind } from "../core/ledger.ts";

/** All SQL of an account. Tables exist only once the account does. */
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
  ) STRICT;
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    label TEXT,
    created_at INTEGER NOT NULL,
    last_used_day INTEGER
  ) STRICT, WITHOUT ROWID;
`;

const FOLD_AT_ONCE = 5_000;

/** A booking as it is kept; `createdAt` is in Unix milliseconds. */
export interface StoredEntry extends Entry {
  readonly seq: number;
  readonly taskId: string | null;
  readonly createdAt: number;
}

export interface StoredKey {
  readonly id: string;
  /** Its first characters, for people to tell keys apart. */
  readonly prefix: string;
  readonly label: string | null;
  readonly createdAt: number;
  /** Days since 1970-01-01 UTC; null: never used. */
  readonly lastUsedDay: number | null;
}

type EntryRow = {
  seq: number;
  kind: EntryKind;
  reference: string;
  amount: number;
  balance: number;
  task_id: string | null;
  created_at: number;
};

type KeyRow = {
  id: string;
  prefix: string;
  label: string | null;
  created_at: number;
  last_used_day: number | null;
};

export class AccountStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  createTables(): void {
    this.#sql.exec(SCHEMA);
  }

  balance(): number {
    const newest = "SELECT balance FROM entries ORDER BY seq DESC LIMIT 1";
    return this.#sql.exec<{ balance: number }>(newest).toArray()[0]?.balance ?? 0;
  }

  find(kind: EntryKind, reference: string): Entry | null {
    const query = "SELECT * FROM entries WHERE kind = ? AND reference = ?";
    const [row] = this.#sql.exec<EntryRow>(query, kind, reference);
    return row === undefined ? null : entryOf(row);
  }

  insert(entry: Entry, taskId: string | null, now: number): void {
    this.#sql.exec(
      `INSERT INTO entries (kind, reference, amount, balance, task_id, created_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      entry.kind,
      entry.reference,
      entry.amount,
      entry.balance,
      taskId,
      now,
    );
  }

  /** Newest first, those before `seq`: all, or the grants alone, which are few (found by their kind). */
  page(kind: "grant" | null, before: number, limit: number): StoredEntry[] {
    const only = kind === null ? "" : "AND kind = 'grant'";
    const query = `SELECT * FROM entries WHERE seq < ? ${only} ORDER BY seq DESC LIMIT ?`;
    return this.#sql.exec<EntryRow>(query, before, limit).toArray().map(entryOf);
  }

  /**
   * Replaces entries older than `time` by one that opens the ledger with their balance: some at a time,
   * so that nobody waits for long. Tells whether there may be more.
   */
  compact(time: number): boolean {
    const newestOld = `SELECT * FROM (SELECT * FROM entries ORDER BY seq LIMIT ?2)
                       WHERE created_at < ?1 ORDER BY seq DESC LIMIT 1`;
    const [last] = this.#sql.exec<EntryRow>(newestOld, time, FOLD_AT_ONCE);
    if (last === undefined || last.kind === "opening") return false;
    this.#sql.exec("DELETE FROM entries WHERE seq <= ?", last.seq);
    this.#sql.exec(
      `INSERT INTO entries (seq, kind, reference, amount, balance, created_at)
       VALUES (?, 'opening', 'opening', ?, ?, ?)`,
      last.seq,
      last.balance,
      last.balance,
      last.created_at,
    );
    return true;
  }

  addKey(key: StoredKey, sha256: string): void {
    this.#sql.exec(
      "INSERT INTO keys (id, sha256, prefix, label, created_at) VALUES (?, ?, ?, ?, ?)",
      key.id,
      sha256,
      key.prefix,
      key.label,
      key.createdAt,
    );
  }

  keys(): StoredKey[] {
    return this.#sql
      .exec<KeyRow>("SELECT * FROM keys ORDER BY created_at, id")
      .toArray()
      .map(keyOf);
  }

  findKey(sha256: string): StoredKey | null {
    const [row] = this.#sql.exec<KeyRow>("SELECT * FROM keys WHERE sha256 = ?", sha256);
    return row === undefined ? null : keyOf(row);
  }

  markUsed(id: string, day: number): void {
    this.#sql.exec("UPDATE keys SET last_used_day = ? WHERE id = ?", day, id);
  }

  keyHash(id: string): string | null {
    const query = "SELECT sha256 FROM keys WHERE id = ?";
    return this.#sql.exec<{ sha256: string }>(query, id).toArray()[0]?.sha256 ?? null;
  }

  removeKey(id: string): void {
    this.#sql.exec("DELETE FROM keys WHERE id = ?", id);
  }
}

function entryOf(row: EntryRow): StoredEntry {
  const { seq, kind, reference, amount, balance, task_id: taskId, created_at: createdAt } = row;
  return { seq, kind, reference, amount, balance, taskId, createdAt };
}

function keyOf(row: KeyRow): StoredKey {
  const { id, prefix, label, created_at: createdAt, last_used_day: lastUsedDay } = row;
  return { id, prefix, label, createdAt, lastUsedDay };
}
