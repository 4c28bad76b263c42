/**
 * Exponential backoff: the wait before the next try, in the unit of its arguments. Doubles `first` for
 * every try already made, and never exceeds `max`.
 * @param tries how many tries have been made before the one that just failed, from 0.
 */
export function backoff(first: number, tries: number, max: number): number {
  return Math.min(first * 2 ** Math.min(tries, 30), max);
}
