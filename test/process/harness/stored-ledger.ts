import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { objectFiles, readCopy, storedRecord } from "./stored-record.ts";

export type InterruptedBooking = "charge" | "refund";

const StoredBooking = z.object({
  credits: z.object({ state: z.object({ kind: z.string() }) }),
});

/** Tells whether an account's file contains a refund for the task now. */
export function isRefundStored(storage: string, taskId: string): boolean {
  const query = "SELECT 1 FROM entries WHERE kind = 'refund' AND task_id = ?";
  return objectFiles(join(storage, "accounts")).some((file) =>
    readCopy(file, (ledger) => ledger.prepare(query).get(taskId) !== undefined),
  );
}

/** Finds the charges and refunds that are in progress by the task files written after `since`. */
export function interruptedBookings(storage: string, since: number): InterruptedBooking[] {
  const files = objectFiles(join(storage, "tasks")).filter((file) => writtenAt(file) >= since);
  return files.flatMap((file) => {
    const { kind } = StoredBooking.safeParse(storedRecord(file)).data?.credits.state ?? {};
    if (kind === "charging") return ["charge"];
    return kind === "refunding" ? ["refund"] : [];
  });
}

function writtenAt(file: string): number {
  const log = `${file}-wal`;
  return Math.max(statSync(file).mtimeMs, existsSync(log) ? statSync(log).mtimeMs : 0);
}
