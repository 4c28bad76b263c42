import { lookWaitMs } from "./backoff.ts";
import { DAY_MS, SECOND_MS } from "./time.ts";

/** The largest `CALLBACK_TIMEOUT_S`, in milliseconds. */
export const MAX_CALLBACK_TIMEOUT_MS = 25 * SECOND_MS;

/** The largest `RETENTION_DAYS`, in milliseconds. */
export const MAX_RETENTION_MS = 365 * DAY_MS;
/** The longest time from a registration to its deadline, in milliseconds. */
export const MAX_DEADLINE_MS = 365 * DAY_MS;
/**
 * Fraction of the time from creation to deadline by which the deadline of an open task is extended, at most
 * once, when the upstream is still at work.
 */
export const DEADLINE_EXTENSION = 1 / 4;
/** The longest time for which a task is open, in milliseconds. */
const MAX_OPEN_MS = MAX_DEADLINE_MS * (1 + DEADLINE_EXTENSION);

/**
 * Returns how long the ledger must keep the reference of a charge, in milliseconds. A refund can be needed for
 * the longest time that a task can be open, plus the time for which a finished task is stored.
 */
export function refundableMs(retentionMs: number): number {
  return MAX_OPEN_MS + retentionMs;
}

/**
 * Everything besides the stored task that the effect of an event depends on: the configured settings, and
 * what the Durable Object of the task keeps in memory.
 */
export interface Policy extends Settings {
  /**
   * Time in Unix milliseconds up to which all planned writes of the task's index row have been tried; if the
   * index still lacks the present row, they have failed. The time is kept in memory, because storing it would
   * add a write to the storage for each failed write to the index.
   */
  readonly indexTriedAt: number;
  /**
   * Time in Unix milliseconds up to which all planned polls of the task's job have been made or begun. The
   * time is kept in memory, because storing it would add a write to the storage for each poll.
   */
  readonly polledAt: number;
  /**
   * Time in Unix milliseconds at which this instance of the task's object began its most recent poll; 0 when
   * it has begun none.
   */
  readonly askedAt: number;
  /**
   * Time in Unix milliseconds at which the most recent poll of this instance has ended; 0 when none has. Regular
   * polls that were planned for the time of that poll are not made up for: an upstream that answers slowly or not
   * at all would be polled without a pause.
   */
  readonly pollEndedAt: number;
  /**
   * Time in Unix milliseconds before which the job is not polled, because its connection to the provider was
   * polled as often as the provider permits; 0 when that is not so. The time is kept in memory. A poll that
   * becomes urgent after `pollDeferredAt` does not wait for it.
   */
  readonly pollDeferredTo: number;
  /** Time in Unix milliseconds at which the poll was deferred; 0 when none was. */
  readonly pollDeferredAt: number;
}

/** The configured times, limits and switches. Durations are in milliseconds. */
export interface Settings {
  /**
   * Wait before each automatic attempt of a callback in milliseconds, counted from the end of the previous
   * attempt. The length of the list is the number of attempts. The first attempt of a series that a crash
   * interrupts is followed sooner and takes no wait of the list (record/callback-attempt-plan.ts).
   */
  readonly scheduleMs: readonly number[];
  readonly taskDeadlineMs: number;
  readonly retentionMs: number;
  /**
   * Time from the last change of a settled task, whose callback and refund have ended, to the deletion of
   * its row from the index, in milliseconds.
   */
  readonly indexRetentionMs: number;
  /** The current time in Unix milliseconds while the relay is paused; null otherwise. */
  readonly pausedAt: number | null;
  /** Poll limits of the connections that can be polled, by name of the connection. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** How late a poll may find a result, as a fraction of the job's age (polls/cadence.ts). */
  readonly pollLateness: number;
  /**
   * Random number from 0 to 1 that each instance of a Durable Object chooses for itself, so that many tasks
   * do not poll at the same moment.
   */
  readonly jitter: number;
  /** States that an index is bound. */
  readonly isIndexed: boolean;
  /** States that the operator has configured a URL for notices. */
  readonly isOperatorNotified: boolean;
  /**
   * Kinds of notices (messages to the operator about one task) that are not sent, because `OPERATOR_EVENTS`
   * does not name them.
   */
  readonly unwantedNotices: ReadonlySet<string>;
}

/** Limits on how often a provider may be polled. */
export interface PollLimits {
  /**
   * Age of a job in milliseconds at which a hook that is expected counts as late, so that the job is polled; 0
   * when polls do not wait for hooks, null when the provider sends none.
   */
  readonly hookWaitMs: number | null;
  /** Minimum time between two polls of one task, in milliseconds. */
  readonly gapMs: number;
  /**
   * Age in milliseconds at which the provider has forgotten a job; null when the provider never forgets
   * jobs.
   */
  readonly maxAgeMs: number | null;
  /** States that the id of a job is enough to poll it: the provider requires no endpoint. */
  readonly isIdEnough: boolean;
  /**
   * States that the provider's answers show to which task a job belongs: they name the task, or its hook URL.
   */
  readonly isTaskNamed: boolean;
}

/**
 * Returns the time from which work on a task that waits during a pause of the relay (a poll, an attempt of the
 * callback) may start, in Unix milliseconds. It is the work's own time or, during a pause, the time of the
 * next check whether the pause is over.
 * @param waitingSince time from which the waits between these checks grow, in Unix milliseconds.
 */
export function startAt(
  dueAt: number,
  { pausedAt, jitter }: Policy,
  waitingSince: number = dueAt,
): number {
  if (pausedAt === null) return dueAt;
  return Math.max(dueAt, pausedAt + lookWaitMs(pausedAt - waitingSince, jitter));
}

/**
 * Returns the wait number `index` (from 0) of the schedule in milliseconds, for the automatic attempts of a
 * callback or for those of a redelivery. The first attempt of a redelivery starts at once; beyond its end the
 * configured schedule repeats its last wait.
 * @param isOrdered true for a redelivery, false for the automatic series.
 */
export function waitBeforeMs(policy: Policy, index: number, isOrdered: boolean): number {
  if (isOrdered && index === 0) return 0;
  return policy.scheduleMs[index] ?? policy.scheduleMs.at(-1) ?? 0;
}
