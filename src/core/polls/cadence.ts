import { MINUTE_MS, SECOND_MS } from "../time.ts";

/**
 * The numbers that decide at which times a job is polled. All these times (the poll grid of the job) are a
 * pure function of the numbers, so that a poll without news leaves nothing to store.
 */
export interface Cadence {
  /** Time at which the job was attached, in Unix milliseconds. */
  readonly attachedAt: number;
  /**
   * Age of the job in milliseconds before which it is not polled, because a hook is expected to bring its
   * result; 0 when polls do not wait for a hook, null when none can come.
   */
  readonly hookWaitMs: number | null;
  /** Wait between two polls as a fraction of the job's age (`POLL_LATENESS`). */
  readonly lateness: number;
  /** Minimum time between two polls, in milliseconds. */
  readonly gapMs: number;
  /**
   * Number from 0 to 1, derived from the task's id, that shifts the polls of a task a little, so that tasks of
   * the same age are not all polled at the same moment.
   */
  readonly jitter: number;
}

/** Age of a job at its first poll, in milliseconds, where polls do not wait for a hook. */
const FIRST_POLL_MS = 4 * SECOND_MS;
const MIN_WAIT_MS = 2 * SECOND_MS;
/** Shortest wait between two polls of a job whose hook is expected, in milliseconds. */
const MIN_HOOKED_WAIT_MS = MINUTE_MS;
/** Age of a job in milliseconds from which the wait between two polls stays the same for a while. */
const STEADY_AGE_MS = 150 * SECOND_MS;
/** Age of a job in milliseconds from which the wait between two polls grows again. */
const LATE_AGE_MS = 10 * MINUTE_MS;
/** Fraction of an old job's age that counts for the wait: a quarter, so that the wait makes no step. */
const LATE_GROWTH = STEADY_AGE_MS / LATE_AGE_MS;
const LONGEST_WAIT_MS = 30 * MINUTE_MS;
/** Largest fraction of an age or a wait by which the jitter shortens or lengthens it. */
const JITTER = 0.05;

/**
 * Returns the time of the first regular poll after `after`, in Unix milliseconds. A job is polled first when it
 * is 4 s old or, where a hook is expected, when the hook is late, at the age `hookWaitMs`. The wait after a poll
 * is a part of the job's age (`lateness`) until the job is 150 s old, then stays the same until it is 10 minutes
 * old, and then grows with a quarter of that part of its age, up to 30 minutes. A wait has at least 2 s, one
 * minute where a hook is expected, and at least the provider's gap.
 */
export function nextPollTime(cadence: Cadence, after: number): number {
  const { attachedAt, gapMs } = cadence;
  const longestMs = waitAfterMs(cadence, Infinity);
  const firstMs = Math.round(firstAgeMs(cadence) * factorOf(cadence));
  let ageMs = Math.max(firstMs, MIN_WAIT_MS, gapMs);
  while (attachedAt + ageMs <= after) {
    const waitMs = waitAfterMs(cadence, ageMs);
    // Once the wait no longer grows, the polls up to `after` need not be counted one by one.
    const skipped = waitMs === longestMs ? Math.floor((after - attachedAt - ageMs) / waitMs) : 0;
    ageMs += (skipped + 1) * waitMs;
  }
  return attachedAt + ageMs;
}

function firstAgeMs({ hookWaitMs }: Cadence): number {
  return isHooked(hookWaitMs) ? hookWaitMs : FIRST_POLL_MS;
}

/** Returns the wait after the poll of a job that is `ageMs` old, in milliseconds; it never falls with the age. */
function waitAfterMs(cadence: Cadence, ageMs: number): number {
  const { hookWaitMs, lateness, gapMs } = cadence;
  const countedMs = ageMs < LATE_AGE_MS ? Math.min(ageMs, STEADY_AGE_MS) : ageMs * LATE_GROWTH;
  const plannedMs = Math.min(countedMs * lateness, LONGEST_WAIT_MS) * factorOf(cadence);
  const leastMs = isHooked(hookWaitMs) ? MIN_HOOKED_WAIT_MS : MIN_WAIT_MS;
  return Math.max(Math.round(plannedMs), leastMs, gapMs);
}

/** Tells whether polls wait for a hook. */
function isHooked(hookWaitMs: number | null): hookWaitMs is number {
  return hookWaitMs !== null && hookWaitMs > 0;
}

/** Returns the factor by which the jitter lengthens or shortens the first age and every wait. */
function factorOf({ jitter }: Cadence): number {
  return 1 + JITTER * (2 * jitter - 1);
}
