/**
 * Computes an exponential backoff, the wait before the next try, in the unit of `first` and `max`. The wait
 * is `first` doubled for every earlier try, but never more than `max`.
 * @param tries number of tries before the one that just failed, from 0.
 */
export function backoff(first: number, tries: number, max: number): number {
  return Math.min(first * 2 ** Math.min(tries, 30), max);
}
