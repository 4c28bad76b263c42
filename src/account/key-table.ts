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
  CREATE TABLE keys (
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
const MARK_USED = "UPDATE keys SET last_used_day = ? WHERE id = ?";
const DELETE = "DELETE FROM keys WHERE id = ?";

/** Table `keys` of an account object, which stores its API keys. The table exists only after `create`. */
export class KeyTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(SCHEMA);
  }

  /** Adds an API key. @returns the stored key, which is an older one when its hash is known already. */
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

  hashOf(id: string): string | null {
    const [row] = this.#sql.exec<{ sha256: string }>(HASH, id);
    return row?.sha256 ?? null;
  }

  /**
   * Tells whether an API key with this hash exists, and stores its use, at most once a day because every
   * write costs.
   * @param today days since 1970-01-01 UTC.
   */
  use(sha256: string, today: number): boolean {
    const key = this.#find(sha256);
    if (key === null) return false;
    if (key.lastUsedDay !== today) this.#sql.exec(MARK_USED, today, key.id);
    return true;
  }

  remove(id: string): void {
    this.#sql.exec(DELETE, id);
  }

  #find(sha256: string): StoredKey | null {
    const [key] = this.#sql.exec<SqlRow<StoredKey>>(FIND, sha256);
    return key ?? null;
  }
}
