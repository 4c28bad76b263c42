import { MINUTE_MS } from "./time.ts";

const MIN_LOOK_MS = MINUTE_MS;
/** The longest wait between two looks, which find out whether a step that is held back can be taken now. */
export const MAX_LOOK_MS = 30 * MINUTE_MS;
/** Largest part of a wait that is added to it at random. */
const LOOK_JITTER = 0.25;

/**
 * Computes the wait before the next look whether a step that is held back can be taken, in milliseconds: a
 * quarter of the time for which the step has waited, from one minute to half an hour, plus a random part.
 * Because the looks of many tasks come at different times, their steps do not all start at once when the
 * obstacle is gone.
 * @param ageMs time since the step was due; negative before.
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
 * schedule instead (policy.ts, record/attempts.ts).
 * @param tries number of tries before the one that just failed, from 0.
 */
export function backoff(first: number, tries: number, max: number): number {
  return Math.min(first * 2 ** Math.min(tries, 30), max);
}
