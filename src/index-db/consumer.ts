import * as z from "zod";
import { backoff } from "../core/backoff.ts";
import type { IndexRow } from "../core/views/index-row.ts";
import { errorText, log } from "../log.ts";
import { writeRows } from "./writer.ts";

const FIRST_RETRY_S = 30;
const MAX_RETRY_S = 3_600;

// Rows of an older release are still on their way after a deployment: a new field needs a default.
const whole = z.int();
const Row: z.ZodType<IndexRow> = z.object({
  id: z.string(),
  version: whole,
  account: z.string().nullable(),
  model: z.string(),
  provider: z.string().nullable(),
  status: z.enum(["pending", "processing", "completed", "failed"]),
  callback: z.enum(["waiting", "sending", "delivered", "failed"]).nullable(),
  attempts: whole,
  lastOutcome: z.string().nullable(),
  lastStatusCode: whole.nullable(),
  host: z.string().nullable(),
  createdAt: whole,
  completedAt: whole.nullable(),
  finishedAt: whole.nullable(),
  settledAt: whole.nullable(),
  firstAttemptMs: whole.nullable(),
  settledMs: whole.nullable(),
  dueAt: whole.nullable(),
  expiresAt: whole.nullable(),
});

/**
 * Writes a batch of `INDEX_QUEUE` in one statement. What is no row is given back again and again, until the
 * platform puts it into the dead-letter queue; a database that fails gets the batch again later.
 */
export async function consume(batch: MessageBatch, db: D1Database | undefined): Promise<void> {
  const rows: IndexRow[] = [];
  const good: Message[] = [];
  for (const message of batch.messages) {
    const row = Row.safeParse(message.body);
    if (row.success) {
      rows.push(row.data);
      good.push(message);
    } else {
      message.retry();
      log({ event: "index.poison", message: message.id });
    }
  }
  const isWritten = rows.length === 0 || (await written(rows, db));
  for (const message of good) {
    if (isWritten) message.ack();
    else message.retry({ delaySeconds: retryDelayS(message.attempts) });
  }
  log({ event: "index.batch", rows: rows.length, outcome: isWritten ? "written" : "unknown" });
}

/** A database that is away for a day must not cost rows their way: 100 tries reach for four days. */
function retryDelayS(attempts: number): number {
  return backoff(FIRST_RETRY_S, attempts - 1, MAX_RETRY_S);
}

async function written(rows: readonly IndexRow[], db: D1Database | undefined): Promise<boolean> {
  try {
    if (db === undefined) throw new Error("INDEX_QUEUE is bound without INDEX_DB");
    await writeRows(db, rows, Date.now());
    return true;
  } catch (error) {
    log({ event: "index.unreachable", error: errorText(error) });
    return false;
  }
}
