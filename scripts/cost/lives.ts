/** Consumption of a task in its whole life, in the units in which the platform counts. */
export interface Meters {
  readonly workerRequests: number;
  /** Requests and alarms of all objects. */
  readonly objectRequests: number;
  readonly rowsWritten: number;
  readonly rowsRead: number;
  /**
   * Rows written to D1, without the counts of the statistics, which the tasks of an hour share, and without the
   * list of removed rows, which the tasks share whose rows one run removes.
   */
  readonly d1Written: number;
  /** Rows read in D1, with one count of the statistics. */
  readonly d1Read: number;
  readonly logLines: number;
  /** Calls of the Worker and of objects to objects, to the sender of callbacks, to D1, to upstreams and to receivers. */
  readonly subrequests: number;
  readonly polls: number;
  /** Writes of the row of the task to the index. */
  readonly indexWrites: number;
  readonly attempts: number;
}

/**
 * Consumption of a task in its whole life, for each kind of task in docs/cost.md, by its name there. Its receiver takes
 * longer than the sender keeps the object waiting, so that the end of each attempt is one more request of the object.
 */
export const LIVES = {
  "event, no index": meters(2, 4, 4, 4, 0, 0, 1, 5, 0, 0, 1),
  "event, index": meters(2, 4, 4, 4, 3, 17, 1, 6, 0, 1, 1),
  "registered, index": meters(3, 6, 7, 6, 5, 20, 1, 8, 0, 2, 1),
  "registered with an account, index": meters(3, 6, 7, 6, 7, 20, 1, 8, 0, 2, 1),
  "Ark polled six times, index": meters(3, 14, 17, 13, 7, 26, 1, 18, 8, 4, 1),
  "Ark with hooks, index": meters(6, 9, 10, 6, 5, 21, 1, 12, 1, 2, 1),
  "submitted, Ark with hooks, index": meters(5, 11, 12, 8, 5, 21, 1, 15, 1, 2, 1),
  "queued, Ark with hooks, index": meters(5, 19, 26, 15, 5, 21, 2, 22, 1, 2, 1),
  "submitted for an account at a price, index": meters(5, 12, 16, 10, 7, 21, 1, 16, 1, 2, 1),
  "Ark with hooks, index, job of 300 s": meters(6, 12, 14, 9, 5, 21, 1, 15, 4, 2, 1),
  "Ark with hooks, index, job of 900 s": meters(6, 23, 26, 20, 5, 23, 1, 27, 15, 3, 1),
  "Ark with hooks, index, receiver refuses 3 times": meters(6, 15, 20, 8, 10, 27, 4, 20, 1, 4, 3),
  "Ark with hooks, index, receiver hangs 3 times": meters(6, 15, 19, 8, 10, 27, 4, 20, 1, 4, 3),
  "Ark with hooks, index away for 28 days": meters(6, 16, 18, 13, 0, 0, 10, 19, 1, 9, 1),
} as const;

/** Consumption of the same task at a price, of which the relay keeps an output, until its copy and the task expire. */
export const KEPT_LIFE = meters(5, 17, 26, 19, 10, 24, 1, 21, 1, 3, 1);

/** Consumption of tasks whose rows are first written after 300 s (`INDEX_DELAY_S`), by the name of the life. */
export const LATE_ROWS = {
  "registered, index": meters(3, 5, 6, 5, 3, 17, 1, 7, 0, 1, 1),
  "Ark with hooks, index": meters(6, 9, 11, 6, 3, 18, 1, 11, 1, 1, 1),
} as const;

/** Consumption that a reader adds to a registered task, for each kind of reader in docs/cost.md, by its name there. */
export const READERS = {
  "`?wait=30`, no result by then": meters(1, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0),
  "`?wait=60`, until the result": meters(1, 3, 0, 0, 0, 0, 0, 3, 0, 0, 0),
  "stream of 110 s": meters(1, 4, 0, 0, 0, 0, 0, 4, 0, 0, 0),
  "stream of 10 minutes": meters(1, 4, 0, 0, 0, 0, 0, 4, 0, 0, 0),
  "status page open for 110 s": meters(3, 6, 0, 1, 0, 0, 0, 6, 0, 0, 0),
  "status page open for 10 minutes": meters(12, 24, 0, 10, 0, 0, 0, 24, 0, 0, 0),
  "console's page of the task open for 110 s": meters(4, 7, 0, 1, 0, 0, 0, 7, 0, 0, 0),
} as const;

/**
 * Consumption of a task of a provider without hooks on a relay with an index, by the time in seconds that its job
 * takes, with the default of `POLL_LATENESS`.
 */
export const POLLED_ALONE = {
  30: meters(3, 20, 23, 4, 5, 21, 1, 22, 14, 2, 1),
  110: meters(3, 40, 43, 4, 5, 21, 1, 42, 34, 2, 1),
  600: meters(3, 88, 92, 46, 5, 23, 1, 90, 81, 3, 1),
} as const;
/** Consumption of a task of Ark whose job never ends and sends no hook, with `TASK_DEADLINE_HOURS=1`. */
export const ENDLESS_HOUR = meters(3, 88, 96, 85, 9, 24, 2, 96, 83, 7, 1);
/** Consumption of a task whose first poll finds the result, on a relay with an index. */
export const POLLED_ONCE = meters(3, 7, 8, 6, 5, 21, 1, 9, 1, 2, 1);
/** Consumption that a poll without news adds to a task. */
export const IDLE_POLL = meters(0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0);
/** Consumption that a progress callback adds to a task. */
export const PROGRESS_CALLBACK = meters(0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1);
/** Consumption that a failed attempt which is followed by another one adds to a task with an index. */
export const REPEATED_ATTEMPT = meters(0, 3, 5, 1, 2, 3, 1, 4, 0, 1, 1);
/**
 * Most that a price by usage adds to a task with a price: a call of the ledger that releases a part of the charge, and its
 * rows (test/worker/cost.test.ts).
 */
export const RELEASE = meters(0, 1, 4, 0, 0, 0, 0, 1, 0, 0, 0);
/** Consumption that the failure of the last attempt adds to a task with an index. */
export const FAILED_CALLBACK = meters(0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0);

/**
 * Requests and rows, contained in the life of a submitted task, of the entry that states to which task the job belongs.
 */
export const JOB_ENTRY = { objectRequests: 2, rowsWritten: 2, rowsRead: 2 } as const;

/** Requests of a read of a job by an SDK. A read that finds nothing new writes no row. */
export const JOB_READ = { workerRequests: 1, objectRequests: 2 } as const;

/**
 * Requests, and rows where the answer has files, of the object that makes a call whose caller waits for the result. The
 * object is awake until the answer has arrived.
 */
export const PASSED_CALL = { objectRequests: 1, rowsWithFiles: 2 } as const;

/** Requests of a listener: when it connects, and for each callback. Nothing is billed while it waits. */
export const LISTENER = {
  connection: { workerRequests: 1, objectRequests: 3 },
  callback: { objectRequests: 1, messages: 1 },
} as const;

/**
 * Requests and rows of a minute, which is two refreshes, of the console's overview, with 1,000 open tasks and one key
 * of an upstream.
 */
export const CONSOLE_MINUTE = { workerRequests: 2, objectRequests: 3, d1Read: 1_226 } as const;

/**
 * Returns the consumption of a task with an account: each write of its row to the index is a row more, for an index of
 * the table.
 */
export function withAccount(task: Meters): Meters {
  return { ...task, d1Written: task.d1Written + task.indexWrites };
}

/** Adds the consumption of two tasks, that of the second one multiplied by a factor. */
export function plus(a: Meters, b: Meters, factor = 1): Meters {
  const sum = (meter: keyof Meters) => a[meter] + factor * b[meter];
  return {
    workerRequests: sum("workerRequests"),
    objectRequests: sum("objectRequests"),
    rowsWritten: sum("rowsWritten"),
    rowsRead: sum("rowsRead"),
    d1Written: sum("d1Written"),
    d1Read: sum("d1Read"),
    logLines: sum("logLines"),
    subrequests: sum("subrequests"),
    polls: sum("polls"),
    indexWrites: sum("indexWrites"),
    attempts: sum("attempts"),
  };
}

/** Returns a consumption from numbers in the order of the columns of docs/cost.md. */
function meters(
  workerRequests: number,
  objectRequests: number,
  rowsWritten: number,
  rowsRead: number,
  d1Written: number,
  d1Read: number,
  logLines: number,
  subrequests: number,
  polls: number,
  indexWrites: number,
  attempts: number,
): Meters {
  const requests = { workerRequests, objectRequests, subrequests, polls, attempts };
  return { ...requests, rowsWritten, rowsRead, d1Written, d1Read, logLines, indexWrites };
}
