import type { Measure } from "./buckets.ts";
import type { FoundRow, Histogram } from "./found-late.ts";
import type { TotalRow } from "./totals.ts";

interface Tasks {
  /** Status of the callback; empty when the tasks have no `callback_url`. */
  readonly callback: string;
  readonly tasks: number;
  readonly attempts: number;
}

/**
 * Number of tasks of one model, status and callback status, summed over the hours of a window, and the number of
 * their attempts.
 */
export interface Count extends Tasks {
  readonly model: string;
  readonly status: string;
}

/**
 * Number of tasks whose callbacks go to the same host and have the same status, summed over the hours of a window,
 * and the number of their attempts.
 */
export interface HostCount extends Tasks {
  /** Host of the receiver; `*` for those that are not counted by name. */
  readonly host: string;
}

/** Numbers of the outputs of tasks whose copies have ended. */
export interface CopyCount {
  readonly keptOutputs: number;
  /** Size of the kept copies together, in bytes. */
  readonly keptBytes: number;
  /** Number of the outputs whose copies the relay has given up. */
  readonly lostOutputs: number;
}

/**
 * Credits that were charged for the tasks of a window: those that are still held, and those that were earned, given back
 * after a completion (`released`), or given back after a failure (`refunded`).
 */
export interface CreditSums {
  readonly held: number;
  readonly earned: number;
  readonly released: number;
  readonly refunded: number;
}

export interface Statistics {
  readonly counts: readonly Count[];
  readonly credits: CreditSums;
  readonly hosts: readonly HostCount[];
  /** Outputs of the tasks of the window. */
  readonly outputs: CopyCount;
  readonly histograms: Readonly<Record<Measure, Histogram>>;
  /**
   * Numbers of tasks by the time between the end of the job at the provider and the arrival of its result at
   * the relay, for each provider and source of the results (hook, poll or report).
   */
  readonly found: readonly FoundRow[];
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

/**
 * Window of time: statistics cover the tasks created in it. `since` is inclusive, `until` exclusive, in Unix
 * milliseconds.
 */
export interface Window {
  readonly since: number;
  readonly until: number;
}

export interface Backlog {
  readonly tasks: number;
  /**
   * Earliest creation time, or for overdue tasks earliest due time, of the counted tasks, in Unix
   * milliseconds; null when there are no tasks.
   */
  readonly oldestAt: number | null;
}

export function sumOfCredits(parts: readonly CreditSums[]): CreditSums {
  return parts.reduce(
    (sum, part) => ({
      held: sum.held + part.held,
      earned: sum.earned + part.earned,
      released: sum.released + part.released,
      refunded: sum.refunded + part.refunded,
    }),
    { held: 0, earned: 0, released: 0, refunded: 0 },
  );
}
