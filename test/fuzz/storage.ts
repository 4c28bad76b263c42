import { DatabaseSync } from "node:sqlite";
import { requireStorable } from "../simulation/storage-limit.ts";

type Row = Record<string, unknown>;

/** The storage of one Durable Object in memory. Alarms are accepted but never run. */
export class MemoryStorage {
  readonly #values = new Map<string, unknown>();
  #database: DatabaseSync | null = null;
  readonly kv = {
    get: (key: string): unknown => structuredClone(this.#values.get(key)),
    put: (key: string, value: unknown): void => {
      requireStorable(value);
      this.#values.set(key, structuredClone(value));
    },
    delete: (key: string): boolean => this.#values.delete(key),
    list: ({ prefix = "" }: { readonly prefix?: string } = {}): Iterable<[string, unknown]> =>
      [...structuredClone(this.#values)]
        .filter(([key]) => key.startsWith(prefix))
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
  readonly sql = {
    exec: (query: string, ...values: readonly unknown[]) => {
      const rows = this.#run(query, values);
      const one = () => {
        const [row] = rows;
        if (row === undefined || rows.length > 1) throw new Error(`${rows.length} rows, not one`);
        return row;
      };
      return { toArray: () => rows, one, [Symbol.iterator]: () => rows.values() };
    },
  };

  async setAlarm(): Promise<void> {}

  async getAlarm(): Promise<null> {
    return null;
  }

  async deleteAll(): Promise<void> {
    this.#values.clear();
  }

  /** Everything that is stored, as text. */
  get content(): string {
    const tables = this.#tables.map((table) => this.#run(`SELECT * FROM ${table}`, []));
    return JSON.stringify([...this.#values, ...tables]);
  }

  /** Names of the tables. */
  get #tables(): readonly string[] {
    if (this.#database === null) return [];
    const tables = this.#run("SELECT name FROM sqlite_master WHERE type = 'table'", []);
    return tables.map(({ name }) => String(name));
  }

  #run(query: string, values: readonly unknown[]): Row[] {
    this.#database ??= new DatabaseSync(":memory:");
    // Only the statement that creates the schema consists of several statements; it has no parameters.
    if (!query.includes("CREATE TABLE")) return this.#database.prepare(query).all(...values);
    this.#database.exec(query);
    return [];
  }
}

/** Returns a stub of the object: each method is asynchronous and copies its arguments and its result. */
export function stubOf(object: object): object {
  return new Proxy(object, {
    get:
      (_, name) =>
      async (...args: readonly unknown[]) => {
        const method: unknown = Reflect.get(object, name);
        if (typeof method !== "function") throw new Error(`there is no method ${String(name)}`);
        const answer: unknown = Reflect.apply(method, object, structuredClone(args));
        return structuredClone(await answer);
      },
  });
}

/** A D1 database that accepts every statement and holds no rows. */
const statement = {
  bind: () => statement,
  run: async () => ({ results: [] }),
  all: async () => ({ results: [] }),
  first: async () => null,
};
const session = {
  prepare: () => statement,
  batch: async (statements: readonly unknown[]) =>
    statements.map(() => ({ results: [], meta: { size_after: 0 } })),
};
export const EMPTY_DATABASE = { ...session, withSession: () => session };
