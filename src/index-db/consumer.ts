import { backoff } from "../core/backoff.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import { errorText, log, logAs, type LogSettings } from "../log.ts";
import { RowSchema } from "./columns.ts";
import { writeRows } from "./writer.ts";

const FIRST_RETRY_S = 30;
const MAX_RETRY_S = 3_600;

/**
 * Consumes a batch of `INDEX_QUEUE`: writes its rows in one statement and acknowledges them. Messages that
 * are not rows are retried until the platform moves them to the dead-letter queue. When the database fails,
 * all rows are retried later (`retryDelayS`).
 */
export async function consume(
  batch: MessageBatch,
  db: D1Database | undefined,
  settings: LogSettings,
): Promise<void> {
  const rows: IndexRow[] = [];
  const validMessages: Message[] = [];
  for (const message of batch.messages) {
    const row = RowSchema.safeParse(message.body);
    if (row.success) {
      rows.push(row.data);
      validMessages.push(message);
    } else {
      message.retry();
      log({ event: "index.poison", message: message.id }, "error");
    }
  }
  const isWritten = rows.length === 0 || (await tryWrite(rows, db));
  for (const message of validMessages) {
    if (isWritten) message.ack();
    else message.retry({ delaySeconds: retryDelayS(message.attempts) });
  }
  const line = { rows: rows.length, outcome: isWritten ? "written" : "unknown" };
  logAs(isWritten ? "detail" : "warn", { event: "index.batch", ...line }, settings);
}

/**
 * Returns the delay before a queue message is retried, in seconds. The 100 attempts of a message span four
 * days, so an outage of the database for a day loses no rows.
 */
function retryDelayS(attempts: number): number {
  return backoff(FIRST_RETRY_S, attempts - 1, MAX_RETRY_S);
}

/** Writes rows to the index; returns false when the database fails. */
async function tryWrite(rows: readonly IndexRow[], db: D1Database | undefined): Promise<boolean> {
  try {
    if (db === undefined) throw new Error("INDEX_QUEUE is bound without INDEX_DB");
    await writeRows(db, rows, Date.now());
    return true;
  } catch (error) {
    log({ event: "index.unreachable", error: errorText(error) }, "warn");
    return false;
  }
}
