import { isolateCache } from "../../isolate-cache.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

const WINDOW_MS = 10 * SECOND_MS;
/**
 * Number of faults of one receiver's host or provider's connection at which they are reported to the object
 * that counts them, although their window of ten seconds is not over yet.
 */
const REPORTED_EARLY = 10;
/**
 * Time in milliseconds after which faults that are still not reported are dropped, counted from the first
 * fault of their window of ten seconds.
 */
const FORGOTTEN_MS = 10 * MINUTE_MS;
const MAX_NAMES = 1_000;

/**
 * The faults (failed attempts or refused API keys) of one receiver's host or provider's connection that are
 * counted together: those within ten seconds from the first of them.
 */
interface Window {
  /** Time of the first of these faults, in Unix milliseconds. */
  readonly startedAt: number;
  readonly count: number;
  /**
   * Number of faults that are still to be reported to the Durable Object that counts the faults of this host
   * or connection. The number does not rise above `REPORTED_EARLY`; further faults are never reported.
   */
  readonly unreported: number;
}

/**
 * Collects the faults that this isolate meets at a receiver's host or a provider's connection. Reports them in
 * few calls to the one object that counts them, even when thousands of tasks meet the same fault. The first
 * fault of a window of ten seconds is reported at once; the others together with the tenth fault, or with the
 * first one after the window.
 */
export class FaultNotes {
  readonly #windows = isolateCache<Window>(MAX_NAMES, Infinity);

  /**
   * Counts one fault of a host or a connection.
   * @param now current time, in Unix milliseconds.
   * @returns the number of faults that the caller is to report now; 0 when it is to report none.
   */
  add(name: string, now: number): number {
    const known = this.#windows.get(name);
    const ageMs = known === undefined ? Infinity : Math.abs(now - known.startedAt);
    const earlier = known === undefined || ageMs > FORGOTTEN_MS ? 0 : known.unreported;
    const unreported = Math.min(earlier + 1, REPORTED_EARLY);
    const isFirst = known === undefined || ageMs >= WINDOW_MS;
    const count = isFirst ? 1 : known.count + 1;
    const isReported = isFirst || count === REPORTED_EARLY;
    const startedAt = isFirst ? now : known.startedAt;
    this.#windows.set(name, { startedAt, count, unreported: isReported ? 0 : unreported });
    return isReported ? unreported : 0;
  }
}
