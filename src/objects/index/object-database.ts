import type { Result } from "../../core/result.ts";
import type {
  IndexDatabase,
  IndexResult,
  IndexStatement,
  SqlValue,
} from "../../index-db/index-database.ts";

/** A statement as it is sent to the object. */
export interface Query {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * Results of the statements (`IndexResult`) as JSON, whose rows have the type that the caller knows of its SQL; or the
 * message of SQLite's error for the statement that has failed.
 */
export type Answer = Result<string, string>;

/** Runs statements in a transaction. */
type Run = (queries: readonly Query[]) => Promise<Answer>;

/** The database of the index that lies in its Durable Object, with the methods that the relay uses of a D1 database. */
export class ObjectDatabase implements IndexDatabase {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  prepare(sql: string): ObjectStatement {
    return new ObjectStatement({ sql, values: [] }, this.#run);
  }

  batch<T>(statements: readonly ObjectStatement[]): Promise<readonly IndexResult<T>[]> {
    return resultsOf(
      statements.map(({ query }) => query),
      this.#run,
    );
  }

  /** Returns the database itself: it has no replicas. */
  withSession(): this {
    return this;
  }
}

class ObjectStatement implements IndexStatement {
  readonly query: Query;
  readonly #run: Run;

  constructor(query: Query, run: Run) {
    this.query = query;
    this.#run = run;
  }

  bind(...values: readonly SqlValue[]): ObjectStatement {
    return new ObjectStatement({ sql: this.query.sql, values }, this.#run);
  }

  async first<T>(): Promise<T | null> {
    const { results } = await this.all<T>();
    return results[0] ?? null;
  }

  async all<T>(): Promise<IndexResult<T>> {
    const [result] = await resultsOf<T>([this.query], this.#run);
    if (result === undefined) throw new Error("the object of the index gave no answer to a query");
    return result;
  }

  run<T>(): Promise<IndexResult<T>> {
    return this.all<T>();
  }
}

/** Runs statements. @throws when one has failed, as D1's methods do. */
async function resultsOf<T>(
  queries: readonly Query[],
  run: Run,
): Promise<readonly IndexResult<T>[]> {
  const answer = await run(queries);
  if (!answer.ok) throw new Error(answer.error);
  return JSON.parse(answer.value);
}
