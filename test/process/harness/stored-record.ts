import { copyFileSync, existsSync, globSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import * as z from "zod";

/** The part of a stored record that says which attempts were made, as `src/core/record` writes it. */
export type StoredCallback = z.infer<typeof StoredCallback>;
const StoredCallback = z.object({
  attempts: z.array(
    z.object({ number: z.int(), startedAt: z.int(), durationMs: z.int(), outcome: z.string() }),
  ),
  state: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("due"), nextAttemptAt: z.int() }),
    z.object({ kind: z.literal("in_flight"), number: z.int(), startedAt: z.int() }),
    z.object({ kind: z.literal("delivered") }),
    z.object({ kind: z.literal("failed") }),
  ]),
});
const StoredRecord = z.object({ id: z.string(), callback: StoredCallback });
const Row = z.object({ value: z.instanceof(Uint8Array) });

/**
 * The callback of a task as it stands in the object's file at this moment: what would be left if the
 * relay died now. Null when no file in `storage` holds the task.
 */
export function storedCallback(storage: string, taskId: string): StoredCallback | null {
  for (const file of objectFiles(storage)) {
    const record = StoredRecord.safeParse(storedRecord(file));
    if (record.success && record.data.id === taskId) return record.data.callback;
  }
  return null;
}

/**
 * Reads a copy of an object's file as it stands at this moment; null when it cannot be read. A copy,
 * because a lock of ours could stand in the relay's way. The log is copied first: played onto a file
 * that holds some of it already, it says the same, unless that file took in more of it meanwhile.
 */
export function readCopy<T>(file: string, read: (database: DatabaseSync) => T): T | null {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-record-"));
  const copy = join(directory, "object.sqlite");
  try {
    let changedAt: number;
    do {
      changedAt = statSync(file).mtimeMs;
      rmSync(`${copy}-wal`, { force: true });
      if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`);
      copyFileSync(file, copy);
    } while (statSync(file).mtimeMs !== changedAt);
    using database = new DatabaseSync(copy);
    return read(database);
  } catch {
    // The file of another object, in the making or in the removing.
    return null;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The record in the file of a task's object; null when there is none. */
export function storedRecord(file: string): unknown {
  return readCopy(file, (database) => {
    const row = database.prepare("SELECT value FROM _cf_KV WHERE key = 'task'").get();
    return row === undefined ? null : deserialize(Row.parse(row).value);
  });
}

/** The files of all objects of a class. */
export function objectFiles(storage: string): string[] {
  const files = globSync(join(storage, "*.sqlite"));
  return files.filter((path) => basename(path) !== "metadata.sqlite");
}
