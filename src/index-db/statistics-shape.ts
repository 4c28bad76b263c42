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
 * A row of the table `totals` in one database of the index. It states how many tasks, attempts, outputs or bytes of one
 * kind this database has ever counted.
 */
export interface TotalRow {
  readonly name: TotalName;
  readonly value: number;
  /** Time of the run of the cron trigger that last raised the total, in Unix milliseconds. */
  readonly advancedAt: number;
}

export interface Backlog {
  readonly tasks: number;
  /**
   * Earliest creation time of the counted tasks, in Unix milliseconds; for overdue tasks, the earliest time at which
   * one of them should have changed. Null when there are no tasks.
   */
  readonly oldestAt: number | null;
}

/** Outputs whose copies have not ended: they are being copied, wait for their turn, or wait for a further try. */
export interface OpenCopies {
  readonly outputs: number;
  /** Number of those outputs whose task has completed more than a quarter of an hour ago. */
  readonly lateOutputs: number;
  /** Number of the tasks to which the late outputs belong. */
  readonly lateTasks: number;
  /** True when the count has reached its limit, so that there may be more outputs. */
  readonly isCapped: boolean;
  /**
   * Time at which the earliest of the tasks with such outputs has completed, in Unix milliseconds; null when there are
   * none.
   */
  readonly oldestAt: number | null;
}

/**
 * Statistics of all databases of the index. The rows of the databases are put into one list, and not added up, so
 * several entries of `counts`, `hosts`, `found` and `totals` may have the same keys (e.g. model and status).
 */
export interface Statistics {
  readonly counts: readonly Count[];
  /**
   * Sums over the tasks: the number of refunded tasks; the number and the bytes of the copies of outputs, and the
   * number of outputs that could not be copied; and the credits that are still held, earned, given back after a
   * completion (`released`), and given back after a failure (`refunded`).
   */
  readonly sums: Readonly<Record<Summed, number>>;
  /** Numbers of tasks by the receiver's host. Hosts that are not counted by name are counted together as `*`. */
  readonly hosts: readonly CountRow<"hosts">[];
  readonly histograms: Readonly<Record<Measure, Histogram>>;
  /**
   * Numbers of tasks by the time between the end of the job at the provider and the arrival of its result at the relay.
   * They are counted separately for each provider and each way in which results came (by a hook, by a poll, or by an
   * event that was sent to `POST /v1/events`).
   */
  readonly found: readonly CountRow<"found_late">[];
  /**
   * Number of unsettled tasks: those without a result, and those whose callback or refund is still under way;
   * `oldestAt` is the creation time of the oldest. In each database only the 10,000 tasks that should change first are
   * counted.
   */
  readonly backlog: Backlog;
  /**
   * Number of unsettled tasks (as in `backlog`) whose row shows that they should have changed by themselves, e.g. by an
   * attempt or a poll, more than a minute ago; `oldestAt` is the earliest time at which one of them should have
   * changed.
   */
  readonly overdue: Backlog;
  /**
   * Number of tasks without a result whose submission has an unknown outcome; `oldestAt` is the creation time of the
   * oldest. In each database only the newest 10,000 tasks with such a submission are examined.
   */
  readonly submitUnknown: Backlog;
  /**
   * Outputs whose copies have not ended. In each database only the outputs of the 10,000 tasks that have completed first
   * are counted.
   */
  readonly copies: OpenCopies;
  /**
   * Number of tasks, in the hours of the window, that were still stored in their Durable Objects after the end of the
   * retention and were erased only because the cron trigger asked for it.
   */
  readonly expiryLost: number;
  /** Totals of all tasks that were ever counted. They do not depend on the window. */
  readonly totals: readonly TotalRow[];
  /** Size of the largest database of the index, in bytes. */
  readonly sizeBytes: number;
}
