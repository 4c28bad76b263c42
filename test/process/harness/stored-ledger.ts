import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { objectFiles, readCopy, storedRecord } from "./stored-record.ts";

/** Where a death caught the saga of a task: the ledger is asked, and has booked already or not yet. */
export type Caught = `${"charge" | "refund"} ${"asked" | "booked"}`;

const StoredSaga = z.object({
  id: z.string(),
  credits: z.object({ state: z.object({ kind: z.string() }) }),
});

/**
 * Whether an account's file holds a refund for the task at this moment, as the relay would find it if
 * it died now.
 */
export function isRefundStored(storage: string, taskId: string): boolean {
  return isStored(storage, "refund", taskId);
}

/** What the relay's death has left half done in the files that were written to after `since`. */
export function caughtSince(storage: string, since: number): Caught[] {
  const files = objectFiles(join(storage, "tasks")).filter((file) => writtenAt(file) >= since);
  return files.flatMap((file) => {
    const saga = StoredSaga.safeParse(storedRecord(file)).data;
    const kind = kindOf(saga?.credits.state.kind);
    if (saga === undefined || kind === null) return [];
    return [`${kind} ${isStored(storage, kind, saga.id) ? "booked" : "asked"}`] as const;
  });
}

function kindOf(state: string | undefined): "charge" | "refund" | null {
  if (state === "charging") return "charge";
  return state === "refunding" ? "refund" : null;
}

function isStored(storage: string, kind: string, taskId: string): boolean {
  const query = "SELECT 1 FROM entries WHERE kind = ? AND task_id = ?";
  return objectFiles(join(storage, "accounts")).some((file) =>
    readCopy(file, (ledger) => ledger.prepare(query).get(kind, taskId) !== undefined),
  );
}

function writtenAt(file: string): number {
  const log = `${file}-wal`;
  return Math.max(statSync(file).mtimeMs, existsSync(log) ? statSync(log).mtimeMs : 0);
}
