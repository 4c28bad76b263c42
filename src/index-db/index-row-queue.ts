import { backoff } from "../core/backoff.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import { errorText, log, logAs, type LogSettings } from "../lib/log.ts";
import { RowSchema } from "./index-row-columns.ts";
import type { IndexDatabase } from "./index-database.ts";
import type { Shards } from "./shards.ts";
import { writeRows } from "./index-row-table.ts";

const FIRST_RETRY_S = 30;
const MAX_RETRY_S = 3_600;

/** A message of `INDEX_QUEUE`, together with the index row in it. */
interface QueuedRow {
  readonly message: Message;
  readonly row: IndexRow;
}

/**
 * Handles a batch of messages of `INDEX_QUEUE`, the queue of index rows: writes the rows in them to the index, in one
 * statement for each database, and acknowledges the messages. When a database fails, the messages with its rows are
 * retried later (`retryDelayS`). Messages without a valid row are retried until the platform moves them to the
 * dead-letter queue.
 * @param shards null when the relay has no index, or its configuration is not valid.
 */
export async function writeBatch(
  batch: MessageBatch,
  shards: Shards | null,
  settings: LogSettings,
): Promise<void> {
  const queued = batch.messages.flatMap((message): QueuedRow[] => {
    const row = RowSchema.safeParse(message.body);
    if (row.success) return [{ message, row: row.data }];
    message.retry();
    log({ event: "index.poison", message: message.id }, "error");
    return [];
  });
  const groups = Map.groupBy(queued, ({ row }) => shards?.at(row.createdAt) ?? null);
  const written = await Promise.all([...groups].map(([db, group]) => writeGroup(group, db)));
  const isWritten = written.every(Boolean);
  const line = { rows: queued.length, outcome: isWritten ? "written" : "unknown" };
  logAs(isWritten ? "detail" : "warn", () => ({ event: "index.batch", ...line }), settings);
}

/**
 * Writes the rows of messages to one database of the index and acknowledges the messages.
 * @returns false when the database fails; the messages are then retried later.
 */
async function writeGroup(group: readonly QueuedRow[], db: IndexDatabase | null): Promise<boolean> {
  const isWritten = await tryWrite(
    group.map(({ row }) => row),
    db,
  );
  for (const { message } of group) {
    if (isWritten) message.ack();
    else message.retry({ delaySeconds: retryDelayS(message.attempts) });
  }
  return isWritten;
}

/**
 * Returns the delay before a queue message is retried, in seconds. The 100 attempts of a message take four days, so
 * that no rows are lost when the database is unavailable for a day.
 */
function retryDelayS(attempts: number): number {
  return backoff(FIRST_RETRY_S, attempts - 1, MAX_RETRY_S);
}

/** Writes rows to one database of the index. @returns false when the database fails. */
async function tryWrite(rows: readonly IndexRow[], db: IndexDatabase | null): Promise<boolean> {
  try {
    if (db === null)
      throw new Error("INDEX_QUEUE is bound without an index, or the configuration is not valid");
    await writeRows(db, rows, Date.now());
    return true;
  } catch (error) {
    log({ event: "index.unreachable", error: errorText(error) }, "warn");
    return false;
  }
}
