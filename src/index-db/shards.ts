import type { IndexConfig } from "../config/index-config.ts";

/**
 * The databases of the index. A row lies in the database of its creation time: each takes the tasks that were
 * created in one span, then the next does, and after the last the first again.
 */
export class Shards {
  /** `INDEX_DB`, which also holds the list of accounts. */
  readonly first: D1Database;
  readonly databases: readonly D1Database[];
  /** Length of a span in milliseconds; `Infinity` for a single database. */
  readonly spanMs: number;

  constructor(databases: readonly [D1Database, ...D1Database[]], spanMs: number) {
    [this.first] = databases;
    this.databases = databases;
    this.spanMs = databases.length === 1 ? Infinity : spanMs;
  }

  /** Returns the database of the tasks that were created at this time, in Unix milliseconds. */
  at(createdAt: number): D1Database {
    const span = Math.floor(createdAt / this.spanMs);
    return this.databases[span % this.databases.length] ?? this.first;
  }
}

/** Returns the databases that the configuration names; null without an index. @param env bindings. */
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
