import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize, serialize } from "node:v8";
import * as z from "zod";
import { objectFiles, readCopy } from "./stored-record.ts";

const State = z.object({ kind: z.string() });
const Waiting = z.looseObject({ ask: z.looseObject({ retryAt: z.number() }) });
const Row = z.object({ key: z.string(), value: z.instanceof(Uint8Array) });

/** What an object of a call stores: the kind of its state, and the number of values with its body. */
export interface StoredCall {
  readonly kind: string | null;
  readonly chunks: number;
}

/** Reads the objects of calls that store anything. */
export function storedCalls(storage: string): readonly StoredCall[] {
  return objectFiles(join(storage, "calls")).flatMap((file) => {
    const rows = readCopy(file, (database) =>
      database
        .prepare("SELECT key, value FROM _cf_KV")
        .all()
        .map((row) => Row.parse(row)),
    );
    if (rows === null || rows.length === 0) return [];
    const state = rows.find(({ key }) => key === "call");
    const kind = state === undefined ? null : State.parse(deserialize(state.value)).kind;
    return [{ kind, chunks: rows.filter(({ key }) => key.startsWith("body:")).length }];
  });
}

/** Lets all calls do now what they have planned for later. The relay must not run. */
export function hastenCalls(storage: string): void {
  const directory = join(storage, "calls");
  const now = BigInt(Date.now()) * 1_000_000n;
  using alarms = new DatabaseSync(join(directory, "metadata.sqlite"));
  alarms.prepare("UPDATE _cf_ALARM SET scheduled_time = ?").run(now);
  for (const file of objectFiles(directory)) {
    using object = new DatabaseSync(file);
    const hasTable = (name: string) =>
      object.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(name) !== undefined;
    if (hasTable("_cf_KV")) hastenPlan(object);
    // Each object also knows the time of its own alarm, unless it was killed before it had set one.
    if (!hasTable("_cf_METADATA")) continue;
    object.prepare("UPDATE _cf_METADATA SET value = ? WHERE key = 1").run(now);
  }
}

/** Lets a call that waits ask its task, or its queues, now. */
function hastenPlan(object: DatabaseSync): void {
  const row = object.prepare("SELECT key, value FROM _cf_KV WHERE key = 'call'").get();
  if (row === undefined) return;
  const state = Waiting.safeParse(deserialize(Row.parse(row).value));
  if (!state.success) return;
  const hastened = { ...state.data, ask: { ...state.data.ask, retryAt: Date.now() } };
  object.prepare("UPDATE _cf_KV SET value = ? WHERE key = 'call'").run(serialize(hastened));
}
