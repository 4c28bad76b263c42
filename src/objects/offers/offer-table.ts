import { MAX_VERSIONS, type StoredOffer } from "../../core/offers/book-change.ts";
import type { SqlRow } from "../sql-row.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS offers (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    content TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS offer_versions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (name, version)
  ) STRICT, WITHOUT ROWID`;
const COLUMNS = "name, version, content, changed_at AS changedAt, changed_by AS changedBy";
const VALUES = "(name, version, content, changed_at, changed_by) VALUES (?, ?, ?, ?, ?)";
const FIND = `SELECT ${COLUMNS} FROM offers WHERE name = ?`;
const REPLACE = `INSERT OR REPLACE INTO offers ${VALUES}`;
const AFTER = `SELECT ${COLUMNS} FROM offers WHERE version > ? ORDER BY version`;
const ADD_VERSION = `INSERT INTO offer_versions ${VALUES}`;
const VERSIONS = `SELECT ${COLUMNS} FROM offer_versions WHERE name = ? ORDER BY version DESC`;
const DROP_OLD_VERSIONS = `
  DELETE FROM offer_versions WHERE name = ?1 AND version <= (
    SELECT version FROM offer_versions WHERE name = ?1 ORDER BY version DESC LIMIT 1 OFFSET ?2
  )`;
const OLDEST_DELETED = `SELECT ${COLUMNS} FROM offers WHERE content IS NULL ORDER BY version LIMIT 1`;
const DROP = "DELETE FROM offers WHERE name = ?";
const DROP_VERSIONS = "DELETE FROM offer_versions WHERE name = ?";

/**
 * Tables `offers`, with the latest change of each offer, and `offer_versions`, with the changes of each offer. A deleted
 * offer is a row without content. The first call of any method creates the tables.
 */
export class OfferTable {
  readonly #sql: SqlStorage;
  #isCreated = false;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns the latest change of an offer. Null when it never existed. */
  find(name: string): StoredOffer | null {
    const [row] = this.#run(FIND, name);
    return row ?? null;
  }

  /** Stores a change, and forgets the oldest one of the offer if too many are kept. */
  store({ name, version, content, changedAt, changedBy }: StoredOffer): void {
    this.#run(REPLACE, name, version, content, changedAt, changedBy);
    this.#run(ADD_VERSION, name, version, content, changedAt, changedBy);
    this.#run(DROP_OLD_VERSIONS, name, MAX_VERSIONS);
  }

  /**
   * Returns the latest change of each offer that was changed after a version, oldest first, until their contents have
   * the given number of characters together.
   */
  after(version: number, maxChars: number): { offers: StoredOffer[]; isMore: boolean } {
    const offers: StoredOffer[] = [];
    let chars = 0;
    for (const row of this.#run(AFTER, version)) {
      if (chars >= maxChars) return { offers, isMore: true };
      offers.push(row);
      chars += row.content?.length ?? 0;
    }
    return { offers, isMore: false };
  }

  /** Returns the kept changes of an offer, newest first. */
  versions(name: string): StoredOffer[] {
    return this.#run(VERSIONS, name).toArray();
  }

  /** Forgets the offer that was deleted first, with its changes. @returns the version of its deletion. */
  forgetOldestDeleted(): number | null {
    const [row] = this.#run(OLDEST_DELETED);
    if (row === undefined) return null;
    this.#run(DROP, row.name);
    this.#run(DROP_VERSIONS, row.name);
    return row.version;
  }

  #run(
    query: string,
    ...values: readonly SqlStorageValue[]
  ): SqlStorageCursor<SqlRow<StoredOffer>> {
    if (!this.#isCreated) this.#sql.exec(SCHEMA);
    this.#isCreated = true;
    return this.#sql.exec<SqlRow<StoredOffer>>(query, ...values);
  }
}
