import { copyFileSync, existsSync, globSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import * as z from "zod";

/** Attempts of a callback as `src/core/record` stores them. */
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

/** Reads the callback of a task from the object's file; null when no file in `storage` has the task. */
export function storedCallback(storage: string, taskId: string): StoredCallback | null {
  for (const file of objectFiles(storage)) {
    const record = StoredRecord.safeParse(storedRecord(file));
    if (record.success && record.data.id === taskId) return record.data.callback;
  }
  return null;
}

/**
 * Reads a copy of an object's file, because a lock could block the relay. The write-ahead log is copied first
 * and may be replayed on a file that holds a part of it; when a checkpoint happens meanwhile, the copy is made
 * again.
 * @returns null when the file cannot be read.
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
    // The object is being created or deleted at this moment.
    return null;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Reads the record from the file of a task's object; null when there is none. */
export function storedRecord(file: string): unknown {
  return readCopy(file, (database) => {
    const row = database.prepare("SELECT value FROM _cf_KV WHERE key = 'task'").get();
    return row === undefined ? null : deserialize(Row.parse(row).value);
  });
}

/** Lists the files of all objects of a class. */
export function objectFiles(storage: string): string[] {
  const files = globSync(join(storage, "*.sqlite"));
  return files.filter((path) => basename(path) !== "metadata.sqlite");
}
