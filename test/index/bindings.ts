import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach } from "vitest";
import * as z from "zod";
import type { IndexDatabase, IndexStatement, SqlValue } from "../../src/index-db/index-database.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { started } from "../worker/started.ts";
import { evict, stubOf } from "../worker/objects.ts";

const undo: (() => void)[] = [];

/** Removes, after each test, the bindings that `restartWith` has set. */
export function useBindings(): void {
  afterEach(() => {
    for (const each of undo.splice(0).toReversed()) each();
  });
}

/** Replaces the instance of a task's object by one with these bindings and variables. */
export async function restartWith(id: string, bindings: object): Promise<void> {
  const relay = await started({ ...env, ...bindings });
  await evict(id);
  await runInDurableObject(stubOf(id), (instance) => {
    const own: unknown = Reflect.get(instance, "env");
    if (typeof own !== "object" || own === null) throw new Error("expected an environment");
    // The object reads bindings from what it was constructed with, and the configuration from `env`.
    const replaced = { INDEX_DB: relay.INDEX_DB, ...bindings };
    for (const [name, value] of Object.entries(replaced)) {
      const before = Object.getOwnPropertyDescriptor(own, name);
      Object.defineProperty(own, name, { value, configurable: true, enumerable: true });
      undo.push(() => {
        Reflect.deleteProperty(own, name);
        if (before !== undefined) Object.defineProperty(own, name, before);
      });
    }
    Object.defineProperty(instance, "env", { value: relay });
  });
}

const WithMeta = z.object({ meta: z.object({ rows_read: z.int(), rows_written: z.int() }) });

/**
 * Returns a database that counts the rows that its statements read and write, as D1 bills them.
 * @param isCounted tells of each statement whether its rows are counted.
 */
export function metered(real: IndexDatabase, isCounted: (sql: string) => boolean = () => true) {
  const rows = { read: 0, written: 0 };
  const see = (answer: unknown, sql: string) => {
    if (!isCounted(sql)) return;
    const { data } = WithMeta.safeParse(answer);
    rows.read += data?.meta.rows_read ?? 0;
    rows.written += data?.meta.rows_written ?? 0;
  };
  return { rows, INDEX_DB: gated(real, async () => undefined, see) };
}

/**
 * Returns a database each of whose answers waits for the gate, which gets the SQL.
 * @param see function that is called with the answer to each statement and its SQL.
 */
export function gated(
  real: IndexDatabase,
  gate: (sql: string) => Promise<unknown>,
  see: (answer: unknown, sql: string) => void = () => undefined,
): IndexDatabase {
  const originals = new WeakMap<object, { sql: string; statement: IndexStatement }>();
  const wrap = (sql: string, statement: IndexStatement): IndexStatement => {
    const wrapped = new Proxy(statement, {
      get: (target, name) => {
        if (name === "bind") return (...values: SqlValue[]) => wrap(sql, target.bind(...values));
        return behind(
          () => gate(sql),
          target,
          name,
          (answer) => see(answer, sql),
        );
      },
    });
    originals.set(wrapped, { sql, statement });
    return wrapped;
  };
  const proxy: IndexDatabase = new Proxy(real, {
    get: (target, name) => {
      if (name === "withSession") return () => proxy;
      if (name === "prepare") return (sql: string) => wrap(sql, target.prepare(sql));
      if (name !== "batch")
        return behind(
          () => gate(""),
          target,
          name,
          (answer) => see(answer, ""),
        );
      return async (statements: readonly IndexStatement[]) => {
        const known = statements.flatMap((each) => originals.get(each) ?? []);
        await gate(known.map(({ sql }) => sql).join(";"));
        const answers = await target.batch(known.map(({ statement }) => statement));
        for (const [index, answer] of answers.entries()) see(answer, known[index]?.sql ?? "");
        return answers;
      };
    },
  });
  return proxy;
}

function behind(
  gate: () => Promise<unknown>,
  target: object,
  name: string | symbol,
  see: (answer: unknown) => void,
): unknown {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") return method;
  return async (...args: readonly unknown[]): Promise<unknown> => {
    await gate();
    const answer: unknown = await Reflect.apply(method, target, args);
    see(answer);
    return answer;
  };
}

/** Returns a queue that keeps each message once the gate has resolved. */
export function aQueue(gate: () => Promise<unknown> = async () => undefined) {
  const sent: IndexRow[] = [];
  const send = async (row: IndexRow) => {
    await gate();
    sent.push(structuredClone(row));
  };
  return { sent, queue: { send } };
}

/** Handler of a proxy that hides a database from what an isolate remembers of it, and passes on every call. */
export const BOUND: ProxyHandler<IndexDatabase> = {
  get: (target, name) => {
    const method: unknown = Reflect.get(target, name);
    return typeof method === "function"
      ? (...args: readonly unknown[]): unknown => Reflect.apply(method, target, args)
      : method;
  },
};
