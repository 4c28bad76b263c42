import type { IndexRow } from "../core/views/index-row.ts";
import { withinTime } from "../lib/timeout.ts";
import type { IndexDatabase } from "./index-database.ts";
import type { Shards } from "./shards.ts";
import { writeRows } from "./index-row-table.ts";

/** Bindings for writing to the index: its first D1 database, and the queue for its rows, if they are bound. */
export interface IndexBindings {
  readonly INDEX_DB?: IndexDatabase;
  readonly INDEX_QUEUE?: Queue<IndexRow>;
}

/**
 * Writes the row of a task to the index. If a queue is bound, the row is sent to the queue, whose consumer
 * (index-row-queue.ts) writes it to a database. Otherwise it is written directly. The task repeats a failed write as
 * planned in core/plans/index-row-schedule.ts.
 * @returns true when the queue or the database has accepted the row; false when this took longer than `timeoutMs`, and
 * when no index is bound.
 * @throws when the queue or the database fails.
 */
export function sendRow(
  row: IndexRow,
  shards: Shards | null,
  queue: IndexBindings["INDEX_QUEUE"],
  timeoutMs: number,
): Promise<boolean> {
  const send = async () => {
    if (shards === null) return false;
    if (queue === undefined) await writeRows(shards.at(row.createdAt), [row], Date.now());
    else await queue.send(row);
    return true;
  };
  return withinTime(send, false, timeoutMs);
}
