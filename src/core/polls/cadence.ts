import { MINUTE_MS, SECOND_MS } from "../time.ts";

/**
 * The numbers from which all poll times of a job are computed. Nothing else is needed for that, so that nothing has to
 * be stored after a poll without news.
 */
export interface Cadence {
  /** Time at which the job was attached, in Unix milliseconds. */
  readonly attachedAt: number;
  /**
   * Age of the job in milliseconds before which it is not polled, because a hook is expected to bring its result. 0
   * when polls do not wait for the hook. Null when no hook is expected.
   */
  readonly hookWaitMs: number | null;
  /** Wait between two polls as a fraction of the job's age (`POLL_LATENESS`). */
  readonly lateness: number;
  /** Shortest time between two polls, in milliseconds. */
  readonly gapMs: number;
  /**
   * Number from 0 to 1, derived from the task's id. It shifts the polls of a task a little, so that tasks of the
   * same age are not all polled at the same moment.
   */
  readonly jitter: number;
}

/** Age of a job at its first poll in milliseconds, for a job whose polls do not wait for a hook. */
const FIRST_POLL_MS = 4 * SECOND_MS;
const MIN_WAIT_MS = 2 * SECOND_MS;
/** Shortest wait between two polls in milliseconds, for a job whose polls wait for a hook. */
const MIN_HOOKED_WAIT_MS = MINUTE_MS;
/**
 * Age of a job in milliseconds from which the wait between two polls stays the same. It grows again at
 * `LATE_AGE_MS`.
 */
const STEADY_AGE_MS = 150 * SECOND_MS;
/** Age of a job in milliseconds from which the wait between two polls grows again. */
const LATE_AGE_MS = 10 * MINUTE_MS;
/**
 * Fraction of the job's age that counts for the wait from `LATE_AGE_MS` on: a quarter. At that age a quarter is equal
 * to `STEADY_AGE_MS`, so that the wait does not jump when it begins to grow again.
 */
const LATE_GROWTH = STEADY_AGE_MS / LATE_AGE_MS;
const LONGEST_WAIT_MS = 30 * MINUTE_MS;
/**
 * Largest random change of the job's age at the first poll, and of each wait between polls, as a fraction: 0.05 means
 * up to 5 % shorter or longer.
 */
const JITTER = 0.05;

/**
 * Returns the time of the first regular poll later than `after`, in Unix milliseconds. The first poll of a job is made
 * at the age of 4 s or, when polls wait for a hook, at the age `hookWaitMs`, from which the hook counts as late. Each
 * later wait is the job's age times `lateness`. Between the ages of 150 s and 10 minutes the wait stays the same. From
 * 10 minutes on, only a quarter of the age counts, and the wait grows up to 30 minutes. A wait is never shorter than
 * `gapMs`, and never shorter than 2 s (one minute when polls wait for a hook).
 */
export function nextPollTime(cadence: Cadence, after: number): number {
  const { attachedAt, gapMs } = cadence;
  const longestMs = waitAfterMs(cadence, Infinity);
  const firstMs = Math.round(firstAgeMs(cadence) * factorOf(cadence));
  let ageMs = Math.max(firstMs, MIN_WAIT_MS, gapMs);
  while (attachedAt + ageMs <= after) {
    const waitMs = waitAfterMs(cadence, ageMs);
    // Once the wait no longer grows, the polls up to `after` are skipped by a division, not counted one by one.
    const skipped = waitMs === longestMs ? Math.floor((after - attachedAt - ageMs) / waitMs) : 0;
    ageMs += (skipped + 1) * waitMs;
  }
  return attachedAt + ageMs;
}

function firstAgeMs({ hookWaitMs }: Cadence): number {
  return isHooked(hookWaitMs) ? hookWaitMs : FIRST_POLL_MS;
}

/**
 * Returns the wait after a poll of a job that is `ageMs` old, in milliseconds. The wait never becomes shorter as the
 * job becomes older.
 */
function waitAfterMs(cadence: Cadence, ageMs: number): number {
  const { hookWaitMs, lateness, gapMs } = cadence;
  const countedMs = ageMs < LATE_AGE_MS ? Math.min(ageMs, STEADY_AGE_MS) : ageMs * LATE_GROWTH;
  const plannedMs = Math.min(countedMs * lateness, LONGEST_WAIT_MS) * factorOf(cadence);
  const leastMs = isHooked(hookWaitMs) ? MIN_HOOKED_WAIT_MS : MIN_WAIT_MS;
  return Math.max(Math.round(plannedMs), leastMs, gapMs);
}

/** Tells whether the first poll of a job waits for a hook. */
function isHooked(hookWaitMs: number | null): hookWaitMs is number {
  return hookWaitMs !== null && hookWaitMs > 0;
}

/**
 * Returns the factor by which the job's age at the first poll and every wait are multiplied to spread the polls of
 * tasks, e.g. 0.95.
 */
function factorOf({ jitter }: Cadence): number {
  return 1 + JITTER * (2 * jitter - 1);
}
