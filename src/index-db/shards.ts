import type { IndexConfig } from "../config/index-config.ts";

/**
 * The databases of the index (shards). The creation time of a task decides which of them has its row: time is divided
 * into spans of equal length, and each database takes the tasks of one span, in turn; after the last database the first
 * one follows again.
 */
export class Shards {
  /** First database, `INDEX_DB`, which also contains the list of accounts. */
  readonly first: D1Database;
  readonly databases: readonly D1Database[];
  /**
   * Length of the span of creation times that one database takes before the next, in milliseconds; `Infinity` when
   * there is only one database.
   */
  readonly spanMs: number;

  constructor(databases: readonly [D1Database, ...D1Database[]], spanMs: number) {
    [this.first] = databases;
    this.databases = databases;
    this.spanMs = databases.length === 1 ? Infinity : spanMs;
  }

  /**
   * Returns the database of the index for tasks that were created at this time.
   * @param createdAt in Unix milliseconds.
   */
  at(createdAt: number): D1Database {
    const span = Math.floor(createdAt / this.spanMs);
    return this.databases[span % this.databases.length] ?? this.first;
  }

  /**
   * Returns all databases: first that of the tasks created at this time, then those of earlier and earlier tasks.
   * @param createdAt in Unix milliseconds.
   */
  newestFirst(createdAt: number): readonly D1Database[] {
    const next = this.databases.indexOf(this.at(createdAt)) + 1;
    return [...this.databases.slice(next), ...this.databases.slice(0, next)].toReversed();
  }
}

/**
 * Returns the databases of the index that the configuration names; null when it names none.
 * @param env bindings.
 */
export function shardsOf(
  env: object,
  { indexDatabases, indexShardMs }: IndexConfig,
): Shards | null {
  const [first, ...others] = indexDatabases
    .map((name) => Reflect.get(env, name))
    .filter(isDatabase);
  return first === undefined ? null : new Shards([first, ...others], indexShardMs ?? Infinity);
}

function isDatabase(value: unknown): value is D1Database {
  return typeof value === "object" && value !== null && "prepare" in value;
}
