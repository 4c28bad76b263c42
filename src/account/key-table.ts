import type { SqlRow } from "./sql-row.ts";

/** API key of an account as it is stored, with the SHA-256 of the key in place of the key itself. */
export interface StoredKey {
  readonly id: string;
  /** First characters of the API key, by which people tell keys apart. */
  readonly prefix: string;
  readonly label: string | null;
  /** Time at which the API key was added, in Unix milliseconds. */
  readonly createdAt: number;
  /** Day of the last use, in days since 1970-01-01 UTC; null when the key was never used. */
  readonly lastUsedDay: number | null;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    label TEXT,
    created_at INTEGER NOT NULL,
    last_used_day INTEGER
  ) STRICT, WITHOUT ROWID`;
const KEY = "id, prefix, label, created_at AS createdAt, last_used_day AS lastUsedDay";
const INSERT = "INSERT INTO keys (id, sha256, prefix, label, created_at) VALUES (?, ?, ?, ?, ?)";
const ALL = `SELECT ${KEY} FROM keys ORDER BY created_at, id`;
const FIND = `SELECT ${KEY} FROM keys WHERE sha256 = ?`;
const HASH = "SELECT sha256 FROM keys WHERE id = ?";
const HASHES = "SELECT sha256 FROM keys";
const MARK_USED = "UPDATE keys SET last_used_day = ? WHERE sha256 = ?";
const DELETE = "DELETE FROM keys WHERE id = ?";
const DELETE_ALL = "DELETE FROM keys";

/**
 * Table `keys` with the API keys of an account, in the object `account-keys:<account>`. It exists only after
 * `create`.
 */
export class KeyTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Creates the table `keys` unless it exists. */
  create(): void {
    this.#sql.exec(SCHEMA);
  }

  /**
   * Adds an API key to the account's list, unless the list has a key with this hash.
   * @param sha256 hash of the key.
   * @returns the stored key, new or older.
   */
  add(key: StoredKey, sha256: string): StoredKey {
    const known = this.#find(sha256);
    if (known !== null) return known;
    this.#sql.exec(INSERT, key.id, sha256, key.prefix, key.label, key.createdAt);
    return key;
  }

  /** Returns all API keys of the account, oldest first. */
  all(): StoredKey[] {
    return this.#sql.exec<SqlRow<StoredKey>>(ALL).toArray();
  }

  /** Returns the hashes of all API keys of the account. */
  hashes(): string[] {
    return Array.from(this.#sql.exec<{ sha256: string }>(HASHES), ({ sha256 }) => sha256);
  }

  hashOf(id: string): string | null {
    const [row] = this.#sql.exec<{ sha256: string }>(HASH, id);
    return row?.sha256 ?? null;
  }

  /** Stores the day on which an API key was used. @param today days since 1970-01-01 UTC. */
  markUsed(sha256: string, today: number): void {
    this.#sql.exec(MARK_USED, today, sha256);
  }

  remove(id: string): void {
    this.#sql.exec(DELETE, id);
  }

  removeAll(): void {
    this.#sql.exec(DELETE_ALL);
  }

  #find(sha256: string): StoredKey | null {
    const [key] = this.#sql.exec<SqlRow<StoredKey>>(FIND, sha256);
    return key ?? null;
  }
}
