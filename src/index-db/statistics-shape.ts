import type { Measure } from "./buckets.ts";
import type { Count, CountRow, Summed, TotalName } from "./count-kinds.ts";
import type { Histogram } from "./found-late.ts";

/**
 * Window of time: statistics cover the tasks created in it. `since` is inclusive, `until` exclusive, in Unix
 * milliseconds.
 */
export interface Window {
  readonly since: number;
  readonly until: number;
}

/**
 * A row of the table `totals` in one database of the index: how many tasks, attempts, outputs or bytes of one
 * kind it has ever counted.
 */
export interface TotalRow {
  readonly name: TotalName;
  readonly value: number;
  /** Time of the run of the cron trigger that raised the total last, in Unix milliseconds. */
  readonly advancedAt: number;
}

export interface Backlog {
  readonly tasks: number;
  /**
   * Earliest creation time, or for overdue tasks earliest due time, of the counted tasks, in Unix
   * milliseconds; null when there are no tasks.
   */
  readonly oldestAt: number | null;
}

/**
 * Statistics of all databases of the index. The rows of the databases are only joined, so several entries of `counts`,
 * `hosts`, `found` and `totals` may have the same keys (e.g. model and status).
 */
export interface Statistics {
  readonly counts: readonly Count[];
  /**
   * Sums over the tasks: those that were refunded; their outputs that are kept, the bytes of these copies, and the
   * outputs whose copies the relay has given up; credits that are still held, and those that were earned, given back
   * after a completion (`released`), or given back after a failure (`refunded`).
   */
  readonly sums: Readonly<Record<Summed, number>>;
  /** Numbers of tasks by the receiver's host; `*` for those that are not counted by name. */
  readonly hosts: readonly CountRow<"hosts">[];
  readonly histograms: Readonly<Record<Measure, Histogram>>;
  /**
   * Numbers of tasks by the time between the end of the job at the provider and the arrival of its result at the relay,
   * for each provider and each way in which results came (by a hook, by a poll, or by an event that was sent to `POST
   * /v1/events`).
   */
  readonly found: readonly CountRow<"found_late">[];
  /**
   * Unsettled tasks: those without a result, and those whose callback or refund is still under way;
   * `oldestAt` is the creation time of the oldest. At most 10,000 of each database are counted, those that should
   * change first.
   */
  readonly backlog: Backlog;
  /**
   * Unsettled tasks (as in `backlog`) whose row says that they should have changed by themselves, e.g. by an
   * attempt or a poll, more than a minute ago; `oldestAt` is the earliest time at which one of them should have
   * changed.
   */
  readonly overdue: Backlog;
  /**
   * Tasks without a result whose submission has an unknown outcome; `oldestAt` is the creation time of the oldest. They
   * are counted among the newest 10,000 such tasks of each database.
   */
  readonly submitUnknown: Backlog;
  /**
   * Number of tasks that their Durable Objects still held after the end of the retention, and erased only when the
   * cron trigger asked them to, in the hours of the window.
   */
  readonly expiryLost: number;
  /** Totals of all tasks that were ever counted, which do not depend on the window. */
  readonly totals: readonly TotalRow[];
  /** Size of the largest database of the index, in bytes. */
  readonly sizeBytes: number;
}
