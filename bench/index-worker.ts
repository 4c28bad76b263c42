import { HOUR_MS, MINUTE_MS } from "../src/core/time.ts";
import type { IndexRow } from "../src/core/views/index-row.ts";
import { writeBatch } from "../src/index-db/index-row-queue.ts";
import { ready } from "../src/index-db/database.ts";
import { Shards } from "../src/index-db/shards.ts";
import { ANY_TASK, type Filters, listTasks, type Position } from "../src/index-db/list.ts";
import { countHours } from "../src/index-db/count-hours.ts";
import { statistics } from "../src/index-db/read-statistics.ts";
import { overdueTasks } from "../src/index-db/overdue-tasks.ts";
import { removeExpired } from "../src/index-db/sweep.ts";
import { TimeBudget } from "../src/lib/time-budget.ts";
import { FILL, FILL_HOUR, KEPT_MS } from "./index-rows.ts";

/** Request of the benchmark to its worker; durations in milliseconds. */
type Order =
  | FillOrder
  | { readonly kind: "list"; readonly pages: readonly PageOrder[] }
  | { readonly kind: "statistics"; readonly sinceMs: number; readonly calls: number }
  | { readonly kind: "consume"; readonly batches: number; readonly size: number }
  | { readonly kind: "countHour"; readonly maxQueries: number }
  | {
      readonly kind: "countHours" | "countAll" | "removeExpired" | "overdue";
      readonly calls: number;
    };

/** Order to insert rows of the last 28 days, or of the last full hour. */
interface FillOrder {
  readonly kind: "fill" | "fillHour";
  readonly from: number;
  readonly to: number;
  readonly rows: number;
}

interface PageOrder {
  /** Filters that are set. */
  readonly filters: Partial<Filters>;
  readonly after: Position | null;
  readonly limit: number;
}

/** Durations of the measured calls in milliseconds, and the total of the rows (or hours) that they handled. */
interface Measurement {
  readonly ms: readonly number[];
  readonly rows: number;
  /** Cost of one run of the cron trigger that counts an hour; present only with the order `countHour`. */
  readonly count?: CountOfHour;
}

interface CountOfHour {
  /** Number of hours that the run has left to the next one: 1 when its queries did not suffice for all parts. */
  readonly left: number;
  readonly queries: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Largest number of rows that one statement has read. */
  readonly mostRead: number;
  /** Longest transaction, during which D1 answers nobody else, in milliseconds. */
  readonly longestMs: number;
}

interface Body {
  readonly order: Order;
  readonly seed: number;
  /** Current time of the benchmark, in Unix milliseconds. */
  readonly now: number;
}

export default {
  async fetch(request: Request, env: { readonly INDEX_DB: D1Database }) {
    try {
      return Response.json(await measure(await request.json<Body>(), env.INDEX_DB));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
};

async function measure({ order, seed, now }: Body, db: D1Database): Promise<Measurement> {
  switch (order.kind) {
    case "fill":
    case "fillHour": {
      await ready(db);
      const { kind, from, to, rows } = order;
      const [statement, until] = kind === "fill" ? [FILL, now] : [FILL_HOUR, now - (now % HOUR_MS)];
      const filled = db.prepare(statement).bind(from, to, rows, until, seed);
      return timed([from], async () => (await filled.run()).meta.changes);
    }
    case "list":
      return timed(order.pages, async ({ filters, after, limit }) => {
        return (await listTasks(db, { ...ANY_TASK, ...filters }, after, limit)).tasks.length;
      });
    case "statistics":
      return timed(Array.from({ length: order.calls }), async () => {
        const window = { since: now - order.sinceMs, until: now + 1 };
        return (await statistics(new Shards([db], Infinity), window, now)).counts.length;
      });
    case "consume": {
      const batches = Array.from({ length: order.batches }, (_, i) => batchOf(i, order.size, now));
      return timed(batches, async (batch) => {
        await writeBatch(batch, new Shards([db], Infinity), { logsDetails: false });
        return batch.messages.length;
      });
    }
    case "countHour":
      return countHour(db, now, order.maxQueries);
    case "countHours":
    case "countAll":
    case "removeExpired":
    case "overdue":
      return timed(Array.from({ length: order.calls }), cronSteps(db, now)[order.kind]);
  }
}

/** Measures one run of the cron trigger that counts an hour. */
async function countHour(db: D1Database, now: number, maxQueries: number): Promise<Measurement> {
  const seen = { rowsRead: 0, rowsWritten: 0, mostRead: 0, longestMs: 0 };
  const batch = db.batch.bind(db);
  db.batch = async (statements) => {
    const startedAt = performance.now();
    const answers = await batch<never>(statements);
    seen.longestMs = Math.max(seen.longestMs, performance.now() - startedAt);
    for (const { meta } of answers) {
      seen.rowsRead += meta.rows_read;
      seen.rowsWritten += meta.rows_written;
      seen.mostRead = Math.max(seen.mostRead, meta.rows_read);
    }
    return answers;
  };
  const budget = new TimeBudget(HOUR_MS, maxQueries);
  const startedAt = performance.now();
  const counted = await countHours(db, KEPT_MS, now - (now % HOUR_MS), budget);
  const ms = [performance.now() - startedAt];
  return {
    ms,
    rows: seen.rowsRead,
    count: { left: counted?.left ?? 1, queries: budget.queries, ...seen },
  };
}

/** Statement that marks the six hours before `?1`, so that the next run of the cron trigger counts them. */
const MARK_HOURS = `
  INSERT OR IGNORE INTO hours_to_count (hour, is_changed, run, created_at, id)
  SELECT hour, 1, '', hour, '' FROM (
    SELECT CAST(?1 AS INTEGER) - value * ${HOUR_MS} AS hour FROM json_each('[1, 2, 3, 4, 5, 6]')
  )`;

/** Returns the steps of the cron trigger, to be measured one by one. */
function cronSteps(db: D1Database, now: number) {
  // On the hour the cron also counts older hours.
  const fullHour = now - (now % HOUR_MS);
  const count = async () =>
    (await countHours(db, KEPT_MS, fullHour, new TimeBudget(HOUR_MS)))?.hours ?? 0;
  const budget = new TimeBudget(HOUR_MS);
  const retention = { retentionMs: KEPT_MS, indexRetentionMs: KEPT_MS };
  return {
    countHours: async () => {
      await db.prepare(MARK_HOURS).bind(fullHour).run();
      return count();
    },
    countAll: count,
    removeExpired: async () => (await removeExpired(db, retention, now, budget)) ?? 0,
    overdue: async () => (await overdueTasks(db, now - 10 * MINUTE_MS, 500)).length,
  };
}

/**
 * Measures the durations of calls, one after the other. The clock of a Worker advances only with I/O, which
 * is what is measured.
 */
async function timed<T>(
  items: readonly T[],
  work: (item: T) => Promise<number>,
): Promise<Measurement> {
  const ms: number[] = [];
  let rows = 0;
  for (const item of items) {
    const startedAt = performance.now();
    rows += await work(item);
    ms.push(performance.now() - startedAt);
  }
  return { ms, rows };
}

/** Returns a batch of rows of open tasks; every second batch settles the tasks of the batch before. */
function batchOf(i: number, size: number, now: number): MessageBatch {
  const timestamp = new Date(now);
  const messages = Array.from({ length: size }, (_, j): Message => {
    const body = rowOf(Math.floor(i / 2) * size + j, i % 2 === 1, now);
    return { id: String(j), timestamp, body, attempts: 1, ack() {}, retry: failOnRetry };
  });
  const metadata = { metrics: { backlogCount: 0, backlogBytes: 0 } };
  return { queue: "bench", messages, metadata, ackAll() {}, retryAll: failOnRetry };
}

function failOnRetry(): never {
  throw new Error("a row was retried");
}

function rowOf(n: number, isSettled: boolean, now: number): IndexRow {
  const at = now + n;
  const open: IndexRow = {
    id: `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`,
    version: at,
    account: n % 10 < 6 ? `account-${n % 500}` : null,
    model: `model-${n % 8}`,
    provider: "ark",
    submission: null,
    refusal: null,
    keptOutputs: 0,
    keptBytes: 0,
    lostOutputs: 0,
    copyingOutputs: 0,
    job: null,
    status: "processing",
    category: null,
    callback: "waiting",
    attempts: 0,
    outcomes: {},
    lastOutcome: null,
    lastStatusCode: null,
    host: `host-${n % 60}.example.com`,
    createdAt: at,
    completedAt: null,
    finishedAt: null,
    foundBy: null,
    foundLateMs: null,
    jobMs: null,
    refunded: 0,
    creditsHeld: 0,
    creditsEarned: 0,
    creditsReleased: 0,
    creditsRefunded: 0,
    settledAt: null,
    firstAttemptMs: null,
    settledMs: null,
    dueAt: at,
    expiresAt: null,
  };
  return isSettled ? { ...open, ...settledOf(at) } : open;
}

function settledOf(at: number) {
  return {
    version: at + 1,
    status: "completed",
    callback: "delivered",
    attempts: 1,
    outcomes: { delivered: 1 },
    lastOutcome: "delivered",
    lastStatusCode: 200,
    completedAt: at,
    finishedAt: at,
    settledAt: at,
    firstAttemptMs: 5,
    settledMs: 90,
    dueAt: null,
    expiresAt: at + KEPT_MS,
  } as const;
}
