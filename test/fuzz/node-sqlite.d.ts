/** The part of Node's SQLite that the tests use; the other Node types contradict those of Workers. */
declare module "node:sqlite" {
  export class DatabaseSync {
    constructor(path: string);
    exec(sql: string): void;
    prepare(sql: string): { all(...values: readonly unknown[]): Record<string, unknown>[] };
  }
}
