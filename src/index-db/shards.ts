import type { IndexDatabase } from "./index-database.ts";

/**
 * The databases of the index (shards). The creation time of a task decides which of them has its row: time is divided
 * into spans of equal length, and each database takes the tasks of one span, in turn; after the last database the first
 * one follows again. Whether they are databases of D1 or the one of an object is decided in
 * objects/index/index-shards.ts.
 */
export class Shards {
  /** First database, which also contains the list of accounts. */
  readonly first: IndexDatabase;
  readonly databases: readonly IndexDatabase[];
  /**
   * Length of the span of creation times that one database takes before the next, in milliseconds; `Infinity` when
   * there is only one database.
   */
  readonly spanMs: number;

  constructor(databases: readonly [IndexDatabase, ...IndexDatabase[]], spanMs: number) {
    [this.first] = databases;
    this.databases = databases;
    this.spanMs = databases.length === 1 ? Infinity : spanMs;
  }

  /**
   * Returns the database of the index for tasks that were created at this time.
   * @param createdAt in Unix milliseconds.
   */
  at(createdAt: number): IndexDatabase {
    const span = Math.floor(createdAt / this.spanMs);
    return this.databases[span % this.databases.length] ?? this.first;
  }

  /**
   * Returns all databases: first that of the tasks created at this time, then those of earlier and earlier tasks.
   * @param createdAt in Unix milliseconds.
   */
  newestFirst(createdAt: number): readonly IndexDatabase[] {
    const next = this.databases.indexOf(this.at(createdAt)) + 1;
    return [...this.databases.slice(next), ...this.databases.slice(0, next)].toReversed();
  }
}
