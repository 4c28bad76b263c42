import { copyFileSync, existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import * as z from "zod";

/** The part of a stored record that says which attempts were made, as `src/core/callback.ts` writes it. */
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
  const files = globSync(join(storage, "*.sqlite"));
  for (const file of files.filter((path) => basename(path) !== "metadata.sqlite")) {
    const record = StoredRecord.safeParse(storedRecord(file));
    if (record.success && record.data.id === taskId) return record.data.callback;
  }
  return null;
}

// A copy is read, because a lock of ours could stand in the relay's way. The log is copied first: played
// onto a file that holds some of it already, it says the same.
function storedRecord(file: string): unknown {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-record-"));
  try {
    const copy = join(directory, "object.sqlite");
    if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`);
    copyFileSync(file, copy);
    return recordIn(copy);
  } catch {
    // The file of another task, in the making or in the removing.
    return null;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function recordIn(file: string): unknown {
  const database = new DatabaseSync(file);
  try {
    const row = database.prepare("SELECT value FROM _cf_KV WHERE key = 'task'").get();
    return row === undefined ? null : deserialize(Row.parse(row).value);
  } finally {
    database.close();
  }
}
