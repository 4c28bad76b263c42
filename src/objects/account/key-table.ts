import type { AccountRole } from "../../security/roles.ts";
import type { SqlRow } from "../sql-row.ts";

/** API key of an account in the form in which it is stored: with its SHA-256 instead of the key itself. */
export interface StoredKey {
  readonly id: string;
  /** SHA-256 of the key, in lower-case hex. */
  readonly sha256: string;
  /** First characters of the API key, by which people recognise it. */
  readonly prefix: string;
  readonly label: string | null;
  readonly role: AccountRole;
  /** Time at which the API key was added, in Unix milliseconds. */
  readonly createdAt: number;
  /** Day of the last use, in days since 1970-01-01 UTC. Null when the key was never used. */
  readonly lastUsedDay: number | null;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS api_keys (
    sha256 TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    prefix TEXT NOT NULL,
    label TEXT,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_day INTEGER
  ) STRICT, WITHOUT ROWID`;
const KEY =
  "id, sha256, prefix, label, role, created_at AS createdAt, last_used_day AS lastUsedDay";
const INSERT = `
  INSERT INTO api_keys (id, sha256, prefix, label, role, created_at) VALUES (?, ?, ?, ?, ?, ?)`;
const ALL = `SELECT ${KEY} FROM api_keys ORDER BY created_at, id`;
const FIND = `SELECT ${KEY} FROM api_keys WHERE sha256 = ?`;
const HASH = "SELECT sha256 FROM api_keys WHERE id = ?";
const HASHES = "SELECT sha256 FROM api_keys";
const SET_ROLE = "UPDATE api_keys SET role = ? WHERE sha256 = ?";
const MARK_USED = "UPDATE api_keys SET last_used_day = ? WHERE sha256 = ?";
const DELETE = "DELETE FROM api_keys WHERE id = ?";
const DELETE_ALL = "DELETE FROM api_keys";

/**
 * Table `api_keys` with the API keys of an account, in the object `account-keys:<account>`. The first call of any
 * method creates the table.
 */
export class KeyTable {
  readonly #sql: SqlStorage;
  #isCreated = false;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Adds an API key to the account's list. If the list has a key with the same hash already, that entry stays and only
   * gets the role of `key`.
   * @returns the stored key, which is the new or the older one.
   */
  add(key: StoredKey): StoredKey {
    const { sha256 } = key;
    const known = this.#find(sha256);
    if (known === null) {
      this.#run(INSERT, key.id, sha256, key.prefix, key.label, key.role, key.createdAt);
      return key;
    }
    if (known.role !== key.role) this.#run(SET_ROLE, key.role, sha256);
    return { ...known, role: key.role };
  }

  /** Returns all API keys of the account, oldest first. */
  all(): StoredKey[] {
    return this.#run<SqlRow<StoredKey>>(ALL).toArray();
  }

  /** Returns the hashes of all API keys of the account. */
  hashes(): string[] {
    return Array.from(this.#run<{ sha256: string }>(HASHES), ({ sha256 }) => sha256);
  }

  hashOf(id: string): string | null {
    const [row] = this.#run<{ sha256: string }>(HASH, id);
    return row?.sha256 ?? null;
  }

  /**
   * Returns the role of an API key, and stores on which day the key was used, at most once a day. Null for a key that
   * is not in the list.
   * @param today days since 1970-01-01 UTC.
   */
  use(sha256: string, today: number): AccountRole | null {
    const key = this.#find(sha256);
    if (key !== null && key.lastUsedDay !== today) this.#run(MARK_USED, today, sha256);
    return key?.role ?? null;
  }

  remove(id: string): void {
    this.#run(DELETE, id);
  }

  removeAll(): void {
    this.#run(DELETE_ALL);
  }

  #find(sha256: string): StoredKey | null {
    const [key] = this.#run<SqlRow<StoredKey>>(FIND, sha256);
    return key ?? null;
  }

  #run<Row extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: readonly SqlStorageValue[]
  ): SqlStorageCursor<Row> {
    if (!this.#isCreated) this.#sql.exec(SCHEMA);
    this.#isCreated = true;
    return this.#sql.exec<Row>(query, ...values);
  }
}
