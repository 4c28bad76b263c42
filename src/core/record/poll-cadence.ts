import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../time.ts";

/**
 * The numbers that decide at which times a job is polled. All these times (the poll grid of the job) are a
 * pure function of the numbers, so that a poll without news leaves nothing to store.
 */
export interface Cadence {
  /** Time at which the job was attached, in Unix milliseconds. */
  readonly attachedAt: number;
  /**
   * Ages of the job, in milliseconds and ascending, at which earlier jobs with the same endpoint and model
   * ended: about ten quantiles from 8 % to 95 %. Empty when nothing is known of such jobs.
   */
  readonly likelyAgesMs: readonly number[];
  /**
   * Age of the job in milliseconds before which it is not polled, because a hook is expected to bring its
   * result; 0 when polls do not wait for a hook, null when none can come.
   */
  readonly hookWaitMs: number | null;
  /**
   * Age of the job in milliseconds at its first poll, when nothing is known of earlier jobs with the same
   * endpoint and model, and no hook is expected.
   */
  readonly firstMs: number;
  /** Minimum time between two polls, in milliseconds. */
  readonly gapMs: number;
  /**
   * Number from 0 to 1, derived from the task's id, that shifts the polls of a task a little, so that tasks of
   * the same age are not all polled at the same moment.
   */
  readonly jitter: number;
}

const MIN_WAIT_MS = 3 * SECOND_MS;
/** Wait between two polls as a fraction of the job's age. */
const WAIT_PER_AGE = 0.2;
const LONGEST_WAIT_MS = MINUTE_MS;
/** Wait between two polls of a job that is older than an hour, in milliseconds. */
const LATE_WAIT_MS = 5 * MINUTE_MS;
/** Largest fraction of an age or a wait by which the jitter shortens or lengthens it. */
const JITTER = 0.05;

/**
 * Returns the time of the first regular poll after `after`, in Unix milliseconds. A job is polled first at each
 * of its likely ages (those at which earlier jobs with its endpoint and model ended), or at the age `firstMs`
 * when none is known. From then on each wait is a fifth of the job's age: at least 3 s, and at most one minute
 * in the first hour and 5 minutes later. Where a hook is expected, the first poll is made only when the hook is
 * late: at the age `hookWaitMs` or at the last likely age, whichever is later. A `hookWaitMs` of 0 changes
 * nothing.
 */
export function nextPollTime(cadence: Cadence, after: number): number {
  return cadence.attachedAt + nextPollAge(cadence, after - cadence.attachedAt);
}

/**
 * Returns the time of the regular poll that came before the poll at `askedAt`, in Unix milliseconds; when that
 * is the first poll of the job, the time at which the job was attached.
 */
export function previousPollTime(cadence: Cadence, askedAt: number): number {
  return cadence.attachedAt + previousPollAge(cadence, askedAt - cadence.attachedAt);
}

function nextPollAge(cadence: Cadence, afterMs: number): number {
  const { earlyAgesMs, lastMs, lateMs } = gridOf(cadence);
  const lateAgeMs = lastMs + (Math.floor((afterMs - lastMs) / lateMs) + 1) * lateMs;
  return earlyAgesMs.find((ageMs) => ageMs > afterMs) ?? lateAgeMs;
}

function previousPollAge(cadence: Cadence, askedMs: number): number {
  const { earlyAgesMs, lastMs, lateMs } = gridOf(cadence);
  const latePolls = Math.floor((askedMs - lastMs) / lateMs);
  if (latePolls > 0) return lastMs + (latePolls - 1) * lateMs;
  return earlyAgesMs[earlyAgesMs.findLastIndex((ageMs) => ageMs <= askedMs) - 1] ?? 0;
}

/**
 * Returns the polls of a job in milliseconds: its ages at the polls before the waits become regular (about an
 * hour, or the last likely age), the last of these ages, and the wait between all later polls.
 */
function gridOf(cadence: Cadence) {
  const factor = 1 + JITTER * (2 * cadence.jitter - 1);
  const shortestMs = Math.max(MIN_WAIT_MS, cadence.gapMs);
  const earlyAgesMs: number[] = [];
  let ageMs = 0;
  for (const plannedMs of firstAges(cadence)) {
    ageMs = Math.max(Math.round(plannedMs * factor), ageMs + shortestMs);
    earlyAgesMs.push(ageMs);
  }
  while (ageMs < HOUR_MS) {
    const waitMs = Math.round(Math.min(ageMs * WAIT_PER_AGE, LONGEST_WAIT_MS) * factor);
    ageMs += Math.max(waitMs, shortestMs);
    earlyAgesMs.push(ageMs);
  }
  const lateMs = Math.max(Math.round(LATE_WAIT_MS * factor), shortestMs);
  return { earlyAgesMs, lastMs: ageMs, lateMs };
}

function firstAges({ likelyAgesMs, hookWaitMs, firstMs }: Cadence): readonly number[] {
  const waitMs = hookWaitMs ?? 0;
  if (waitMs > 0) return [Math.max(waitMs, likelyAgesMs.at(-1) ?? 0)];
  return likelyAgesMs.length > 0 ? likelyAgesMs : [firstMs];
}
