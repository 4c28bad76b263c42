import { MINUTE_MS } from "./time.ts";

const MIN_LOOK_MS = MINUTE_MS;
/**
 * Longest wait in milliseconds between two checks whether the work on a task can continue. The work may have been
 * stopped by a pause of the relay or by an error.
 */
export const MAX_LOOK_MS = 30 * MINUTE_MS;
/**
 * Largest random addition to the wait between two checks whether the stopped work on a task can continue. It is a
 * fraction of this wait: 0.25 adds at most a quarter.
 */
const LOOK_JITTER = 0.25;

/**
 * Returns the wait in milliseconds before the relay checks again whether the work on a task can go on. The work was
 * stopped by a pause of the relay or by an error. The wait is a quarter of the time for which the work has waited so
 * far, at least one minute and at most half an hour, including a random part. Without the random part, many tasks would
 * continue at the same moment when the pause or error ends.
 * @param ageMs time for which the work has waited so far, in milliseconds; negative when the work is not due yet.
 * @param jitter random number from 0 to 1.
 */
export function lookWaitMs(ageMs: number, jitter: number): number {
  return quarterOf(ageMs, MAX_LOOK_MS, LOOK_JITTER, jitter);
}

/**
 * Longest wait in milliseconds between two checks whether the receiver's host of a callback is still paused. So an
 * attempt begins at most this long after the end of the pause.
 */
export const MAX_HOST_LOOK_MS = 10 * MINUTE_MS;
/**
 * Largest random addition to the wait between two checks whether a host is still paused, as a fraction of this wait. It
 * is large, so that the callbacks of a host that was just repaired are spread over minutes.
 */
const HOST_LOOK_JITTER = 1;

/**
 * Returns the wait in milliseconds before the relay checks again whether the receiver's host of a callback is still
 * paused: a quarter of the time for which the attempt has waited so far, at least one minute, including a random part,
 * and at most ten minutes.
 * @param ageMs time for which the attempt has waited so far, in milliseconds.
 * @param jitter random number from 0 to 1.
 */
export function hostLookWaitMs(ageMs: number, jitter: number): number {
  return quarterOf(ageMs, MAX_HOST_LOOK_MS, HOST_LOOK_JITTER, jitter);
}

/**
 * Returns a quarter of a wait so far, at least one minute, with a random addition, and at most `maxMs` together.
 * @param share largest random addition, as a fraction of the wait.
 */
function quarterOf(ageMs: number, maxMs: number, share: number, jitter: number): number {
  const waitMs = Math.min(Math.max(ageMs / 4, MIN_LOOK_MS), maxMs / (1 + share));
  return Math.round(waitMs * (1 + share * jitter));
}

/**
 * Returns the wait before the next try, in the unit of `first` and `max`. It is `first` after the first try, and
 * doubles with every further try up to `max` (exponential backoff). The attempts of a callback do not use it: they have
 * a configured schedule (policy.ts, plans/callback-attempt-plan.ts).
 * @param tries number of tries before the one that has just failed, from 0.
 */
export function backoff(first: number, tries: number, max: number): number {
  return Math.min(first * 2 ** Math.min(tries, 30), max);
}
