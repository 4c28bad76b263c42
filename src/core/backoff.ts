import { MINUTE_MS } from "./time.ts";

const MIN_LOOK_MS = MINUTE_MS;
/**
 * Longest wait, in milliseconds, between two checks whether something (e.g. a pause of the relay) still
 * prevents the work on a task.
 */
export const MAX_LOOK_MS = 30 * MINUTE_MS;
/** Largest random addition to the wait between two checks, as a fraction of this wait. */
const LOOK_JITTER = 0.25;

/**
 * Computes the wait before the next check whether a pause of the relay or an error still prevents work on a
 * task, in milliseconds. The wait is a quarter of the time for which the work has waited so far, from one
 * minute to half an hour, plus a random part. Without the random part, many tasks would continue at the same
 * moment when the pause or error ends.
 * @param ageMs time for which the work has waited so far, in milliseconds; negative when it is not due yet.
 * @param jitter random number from 0 to 1.
 */
export function lookWaitMs(ageMs: number, jitter: number): number {
  const longestMs = MAX_LOOK_MS / (1 + LOOK_JITTER);
  const waitMs = Math.min(Math.max(ageMs / 4, MIN_LOOK_MS), longestMs);
  return Math.round(waitMs * (1 + LOOK_JITTER * jitter));
}

/**
 * Computes an exponential backoff, the wait before the next try, in the unit of `first` and `max`. The wait
 * is `first` doubled for every earlier try, but never more than `max`. The attempts of a callback have a
 * schedule instead (policy.ts, record/callback-attempt-plan.ts).
 * @param tries number of tries before the one that just failed, from 0.
 */
export function backoff(first: number, tries: number, max: number): number {
  return Math.min(first * 2 ** Math.min(tries, 30), max);
}
