import pMap from "p-map";
import { MINUTE_MS } from "./core/time.ts";
import type { Env } from "./env.ts";
import { READY_QUERIES, takesRows } from "./index-db/database.ts";
import type { Position } from "./index-db/list.ts";
import type { Shards } from "./index-db/shards.ts";
import { overdueTasks } from "./index-db/sweep.ts";
import { removeRows } from "./index-db/index-row-table.ts";
import { errorText, log } from "./log.ts";
import type { Caller } from "./objects/task/caller.ts";
import { areCallsSpent, taskObject } from "./objects/task/task-stub.ts";
import type { TimeBudget } from "./time-budget.ts";

const OVERDUE_MS = 10 * MINUTE_MS;
const MAX_WOKEN = 5_000;
const CONCURRENCY = 50;
/**
 * Pause in milliseconds after each call to the Durable Object of a task; it spreads the start of the work of
 * up to 5,000 woken tasks over a minute.
 */
const PAUSE_MS = (MINUTE_MS * CONCURRENCY) / MAX_WOKEN;
/**
 * Largest number of queries that a database with overdue tasks gets after their search: to write a row as a test,
 * and to remove rows.
 */
const WRITE_QUERIES = READY_QUERIES + 5;
const DATABASES_AT_ONCE = 6;
/** Caller as which the cron trigger reads a task. */
const CRON: Caller = { kind: "operator", role: "read", key: "cron" };

/** A task that has not changed by its due time, and the database that holds its row. */
interface OverdueTask extends Position {
  readonly db: D1Database;
}

/**
 * The outcome of waking one task: `gone` when the task no longer exists, `failed` when its Durable Object
 * threw, `skipped` when the time for waking (one minute) was over or the platform allowed no more calls.
 */
type Outcome = "woken" | "gone" | "failed" | "skipped";

/**
 * Wakes tasks that should have changed by themselves more than ten minutes ago, as their index rows state: their
 * alarm was lost, or a newer row did not reach the index. At most 5,000 tasks are woken, for at most a minute, 50
 * at once. Each task writes its row again at once and does the work that is due; the rows of tasks that no longer
 * exist are deleted together, because the platform limits the queries of an invocation. A row that lies in the
 * wrong database, because the configured databases were changed, moves to the right one. While a database is full
 * or out of reach, its tasks are not asked to write their rows, because each write costs a task two rows; they only
 * set lost alarms again; likewise where `budget` does not suffice for writing.
 * @param now time of the cron trigger, in Unix milliseconds.
 * @returns the number of overdue tasks that were found, and the number of those that were woken.
 */
export async function wakeOverdue(env: Env, shards: Shards, now: number, budget: TimeBudget) {
  const overdue = await allOverdue(shards, now - OVERDUE_MS, budget);
  const writable = await writableOf(overdue, shards, budget);
  const isWritable = (task: OverdueTask) =>
    writable.has(task.db) && writable.has(shards.at(task.createdAt));
  let hasCalls = true;
  const wake = async (task: OverdueTask): Promise<Outcome> => {
    if (!hasCalls || budget.isSpent()) return "skipped";
    const object = taskObject(env, task.id);
    try {
      if (!isWritable(task)) return (await object.read(CRON)) ? "woken" : "gone";
      const createdAt = await object.republish(false);
      // Another creation time means that the task is gone and its id was used again.
      return createdAt === task.createdAt ? "woken" : "gone";
    } catch (error) {
      hasCalls &&= !areCallsSpent(error);
      if (!hasCalls) return "skipped";
      const line = { task_id: task.id, error: errorText(error) };
      log({ event: "task.unreachable", ...line }, "warn");
      return "failed";
    }
  };
  const wakeAndPause = async (task: OverdueTask): Promise<Outcome> => {
    const outcome = await wake(task);
    if (outcome !== "skipped" && overdue.length > CONCURRENCY) await scheduler.wait(PAUSE_MS);
    return outcome;
  };
  const outcomes = await pMap(overdue, wakeAndPause, { concurrency: CONCURRENCY });
  await removeEach(
    overdue.filter((task, index) => {
      const outcome = outcomes[index];
      const isOver = outcome === "gone" || (outcome === "woken" && isMisplaced(task, shards));
      return isOver && isWritable(task);
    }),
  );
  return {
    overdue: overdue.length,
    woken: outcomes.filter((outcome) => outcome === "woken").length,
  };
}

/**
 * Returns tasks whose due time lies before `before` (Unix milliseconds): at most `MAX_WOKEN`, of which each
 * database of the index may contribute an equal share.
 */
async function allOverdue(
  { databases }: Shards,
  before: number,
  budget: TimeBudget,
): Promise<readonly OverdueTask[]> {
  const limit = Math.ceil(MAX_WOKEN / databases.length);
  if (!budget.take(databases.length)) return [];
  const found = await pMap(
    databases,
    async (db) => {
      const tasks = await overdueTasks(db, before, limit);
      return tasks.map(({ id, createdAt }) => ({ id, createdAt, db }));
    },
    { concurrency: DATABASES_AT_ONCE },
  );
  return found.flat();
}

/**
 * Returns the databases of the index that take rows at present (are in reach and not full), among those in
 * which rows of these tasks lie or should lie.
 */
async function writableOf(
  tasks: readonly OverdueTask[],
  shards: Shards,
  budget: TimeBudget,
): Promise<ReadonlySet<D1Database>> {
  const databases = [...new Set(tasks.flatMap(({ createdAt, db }) => [db, shards.at(createdAt)]))];
  if (!budget.take(databases.length * WRITE_QUERIES)) return new Set();
  const answers = await pMap(databases, takesRows, { concurrency: DATABASES_AT_ONCE });
  return new Set(databases.filter((_, index) => answers[index]));
}

function isMisplaced({ createdAt, db }: OverdueTask, shards: Shards): boolean {
  return shards.at(createdAt) !== db;
}

/** Deletes the index rows of these tasks from the databases in which the rows were found. */
async function removeEach(tasks: readonly OverdueTask[]): Promise<void> {
  const version = Date.now();
  for (const [db, group] of Map.groupBy(tasks, (task) => task.db)) {
    await removeRows(
      db,
      group.map(({ id, createdAt }) => ({ id, createdAt, version })),
    );
  }
}
