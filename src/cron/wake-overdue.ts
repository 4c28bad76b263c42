import { MINUTE_MS } from "../core/time.ts";
import type { Env } from "../env.ts";
import { READY_QUERIES, takesRows } from "../index-db/database.ts";
import type { Position } from "../index-db/list.ts";
import type { IndexDatabase } from "../index-db/index-database.ts";
import type { Shards } from "../index-db/shards.ts";
import { overdueTasks } from "../index-db/overdue-tasks.ts";
import { removeRows } from "../index-db/index-row-table.ts";
import type { Caller } from "../objects/task/caller.ts";
import { CALLED_AT_ONCE, callTasks } from "../objects/task/call-tasks.ts";
import { taskObject } from "../objects/task/task-stub.ts";
import type { TimeBudget } from "../lib/time-budget.ts";

// A task whose alarm was lost is found in three ways: by the cron trigger, which looks for overdue rows of the index (here);
// by any read of the task (objects/task/work-loop.ts); and by an operator (`POST /v1/wake`, api/search/wake-tasks.ts).

const OVERDUE_MS = 10 * MINUTE_MS;
const MAX_WOKEN = 5_000;
/**
 * Pause in milliseconds after each call to the Durable Object of a task. It spreads the calls to up to 5,000 woken
 * tasks over a minute.
 */
const PAUSE_MS = (MINUTE_MS * CALLED_AT_ONCE) / MAX_WOKEN;
/**
 * Largest number of queries for a database in which overdue tasks were found: the queries that write a test row, and
 * those that delete rows.
 */
const WRITE_QUERIES = READY_QUERIES + 5;
/** Caller in whose name the cron trigger reads a task. */
const CRON: Caller = { kind: "operator", role: "read", key: "cron" };

/** Values of the run of the cron trigger that wakes overdue tasks. */
interface Run {
  readonly env: Env;
  readonly shards: Shards;
  /** The databases of the index, in the order in which they are searched. */
  readonly databases: readonly IndexDatabase[];
  /** Time of the cron trigger, in Unix milliseconds. */
  readonly now: number;
}

/** A task that has not changed by its due time, and the database that has its row. */
interface OverdueTask extends Position {
  readonly db: IndexDatabase;
}

/** The result of searching the index for overdue tasks. */
interface Search {
  readonly overdue: readonly OverdueTask[];
  /**
   * The databases that contain rows of overdue tasks, or are the right ones for these rows, and that accept rows at
   * present: they answer and are not full.
   */
  readonly writable: ReadonlySet<IndexDatabase>;
  /** Number of databases that were not searched, because the budget was too small. */
  readonly skipped: number;
}

/**
 * The outcome of waking one task:
 * - `woken`: its Durable Object has set a lost alarm again and starts the work that is due.
 * - `gone`: the task no longer exists.
 * - `skipped`: the time for waking (one minute) was over.
 */
type Outcome = "woken" | "gone" | "skipped";

/**
 * Wakes the tasks that, according to their index rows, should have changed by themselves more than ten minutes ago.
 * Either their alarm was lost, or a newer row did not reach the index. At most 5,000 tasks are woken, for at most a
 * minute, 50 at once. Each task writes its row again at once and does the work that is due. The rows of tasks that no
 * longer exist are deleted together, because the platform limits the queries of an invocation. A row that is in the
 * wrong database, because the configured databases were changed, moves to the right one. When a database is full or
 * does not answer, or when `budget` is too small for writing, the tasks of that database only set lost alarms again.
 * They do not write their rows, because each such write costs the task two billed rows.
 * @returns the number of overdue tasks that were found, the number of those that were woken, and the number of
 * databases that were not searched.
 */
export async function wakeOverdue(run: Run, budget: TimeBudget) {
  const { env, shards } = run;
  const { overdue, writable, skipped } = await searchOverdue(run, budget);
  const isWritable = (task: OverdueTask) =>
    writable.has(task.db) && writable.has(shards.at(task.createdAt));
  const wake = async (task: OverdueTask): Promise<Outcome> => {
    if (budget.isSpent()) return "skipped";
    const object = taskObject(env, task.id);
    try {
      if (!isWritable(task)) return (await object.read(CRON)) ? "woken" : "gone";
      const createdAt = await object.rewriteIndexRow(false);
      // Another creation time means that the task is gone and its id was used again.
      return createdAt === task.createdAt ? "woken" : "gone";
    } finally {
      if (overdue.length > CALLED_AT_ONCE) await scheduler.wait(PAUSE_MS);
    }
  };
  const outcomes = await callTasks(overdue, wake);
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
    skipped,
  };
}

/**
 * Searches the databases one after another for overdue tasks: at most `MAX_WOKEN`, of which each database may
 * contribute an equal share. When tasks are found in a database, the search tests at once whether the databases of
 * their rows accept rows. In this order the budget of queries is enough to do the whole work at least for the first
 * databases.
 */
async function searchOverdue({ shards, databases, now }: Run, budget: TimeBudget): Promise<Search> {
  const limit = Math.ceil(MAX_WOKEN / databases.length);
  const overdue: OverdueTask[] = [];
  const tried = new Map<IndexDatabase, boolean>();
  for (const [index, db] of databases.entries()) {
    if (!budget.take(1)) {
      return { overdue, writable: writableOf(tried), skipped: databases.length - index };
    }
    const found = await overdueTasks(db, now - OVERDUE_MS, limit);
    overdue.push(...found.map(({ id, createdAt }) => ({ id, createdAt, db })));
    const concerned = new Set(found.flatMap(({ createdAt }) => [db, shards.at(createdAt)]));
    for (const each of concerned) {
      if (!tried.has(each) && budget.take(WRITE_QUERIES)) tried.set(each, await takesRows(each));
    }
  }
  return { overdue, writable: writableOf(tried), skipped: 0 };
}

function writableOf(tried: ReadonlyMap<IndexDatabase, boolean>): ReadonlySet<IndexDatabase> {
  return new Set([...tried].filter(([, takes]) => takes).map(([db]) => db));
}

function isMisplaced({ createdAt, db }: OverdueTask, shards: Shards): boolean {
  return shards.at(createdAt) !== db;
}

/** Deletes the index rows of the given tasks from the databases in which the rows were found. */
async function removeEach(tasks: readonly OverdueTask[]): Promise<void> {
  const version = Date.now();
  for (const [db, group] of Map.groupBy(tasks, (task) => task.db)) {
    await removeRows(
      db,
      group.map(({ id, createdAt }) => ({ id, createdAt, version })),
    );
  }
}
