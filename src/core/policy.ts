import { lookWaitMs } from "./backoff.ts";
import { DAY_MS, SECOND_MS } from "./time.ts";

/** The largest `CALLBACK_TIMEOUT_S`, in milliseconds. */
export const MAX_CALLBACK_TIMEOUT_MS = 25 * SECOND_MS;

/** The largest `RETENTION_DAYS`, in milliseconds. */
export const MAX_RETENTION_MS = 365 * DAY_MS;
/** The longest time from a registration to its deadline, in milliseconds. */
export const MAX_DEADLINE_MS = 365 * DAY_MS;
/** Part of the time from creation to deadline by which the deadline of an open task is extended, once. */
export const DEADLINE_EXTENSION = 1 / 4;
/** The longest time for which a task is open, in milliseconds. */
const MAX_OPEN_MS = MAX_DEADLINE_MS * (1 + DEADLINE_EXTENSION);

/**
 * Returns the time for which a ledger must know a charge by its reference, in milliseconds: as long as its
 * task may be open, and then stored, because a refund may be due all that time.
 */
export function refundableMs(retentionMs: number): number {
  return MAX_OPEN_MS + retentionMs;
}

/**
 * Everything that the core decides by besides the record: the configured settings, and what the object of
 * the task keeps in memory.
 */
export interface Policy extends Settings {
  /**
   * Time up to which planned writes to the index have been tried, in Unix milliseconds. The object keeps it
   * in memory, because storing it would cost a row for each failed write.
   */
  readonly indexTriedAt: number;
}

/** The configured times, limits and switches. Durations are in milliseconds. */
export interface Settings {
  /**
   * Wait before each attempt of the automatic series in milliseconds, counted from the end of the previous
   * attempt. The length of the list is the number of attempts.
   */
  readonly scheduleMs: readonly number[];
  readonly taskDeadlineMs: number;
  readonly retentionMs: number;
  /** Time from the last change of a settled task to the end of its row in the index, in milliseconds. */
  readonly indexRetentionMs: number;
  /** The current time in Unix milliseconds while the relay is paused; null otherwise. */
  readonly pausedAt: number | null;
  /** Poll limits of the connections that can be polled, by name of the connection. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /**
   * Random number from 0 to 1 that differs in each instance, so that many tasks do not poll at the same
   * moment.
   */
  readonly jitter: number;
  /** States that an index is bound. */
  readonly isIndexed: boolean;
  /** States that the operator has configured a URL for notices. */
  readonly isOperatorNotified: boolean;
}

/** Limits on how often a provider may be polled. */
export interface PollLimits {
  /**
   * Wait from the attachment of the job to the first poll, in milliseconds; each later wait is twice as
   * long, at most 5 minutes.
   */
  readonly firstMs: number;
  /** Minimum time between two polls of one task, in milliseconds. */
  readonly gapMs: number;
  /**
   * Age in milliseconds at which the provider has forgotten a job; null when the provider never forgets
   * jobs.
   */
  readonly maxAgeMs: number | null;
}

/**
 * Returns the time from which a poll or a callback attempt may start, in Unix milliseconds; a pause delays
 * only these. That is when it is due, or, while the relay is paused, when to look again whether the pause is over.
 */
export function startAt(dueAt: number, { pausedAt, jitter }: Policy): number {
  if (pausedAt === null) return dueAt;
  return Math.max(dueAt, pausedAt + lookWaitMs(pausedAt - dueAt, jitter));
}

/**
 * Returns the wait before the attempt at `index` (from 0) of a series of attempts, in milliseconds. A
 * redelivery starts at once; where it has more attempts than the schedule, the last wait repeats.
 * @param isOrdered true for a redelivery, false for the automatic series.
 */
export function waitBeforeMs(policy: Policy, index: number, isOrdered: boolean): number {
  if (isOrdered && index === 0) return 0;
  return policy.scheduleMs[index] ?? policy.scheduleMs.at(-1) ?? 0;
}
