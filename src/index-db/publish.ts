import type { IndexRow } from "../core/views/index-row.ts";
import { withTimeout } from "../timeout.ts";
import type { Shards } from "./shards.ts";
import { writeRows } from "./writer.ts";

/** Bindings of the index: its first database, and the queue in front of it where one is bound. */
export interface IndexBindings {
  readonly INDEX_DB?: D1Database;
  readonly INDEX_QUEUE?: Queue<IndexRow>;
}

/**
 * Publishes the row of a task: sends it to the queue, whose consumer writes it (consumer.ts), or writes it
 * itself without a queue. The task retries a failed publication as planned in core/record/row-schedule.ts.
 * @returns true when the row was stored durably; false when that failed or took longer than `timeoutMs`.
 */
export function publishRow(
  row: IndexRow,
  shards: Shards | null,
  queue: IndexBindings["INDEX_QUEUE"],
  timeoutMs: number,
): Promise<boolean> {
  const publish = async () => {
    if (shards === null) return false;
    if (queue === undefined) await writeRows(shards.at(row.createdAt), [row], Date.now());
    else await queue.send(row);
    return true;
  };
  return withTimeout("index", publish, false, timeoutMs);
}
