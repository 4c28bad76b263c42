import QuickLRU from "quick-lru";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";

const WINDOW_MS = 10 * SECOND_MS;
/** Number of faults within one window of ten seconds after which they are reported before its end. */
const REPORTED_EARLY = 10;
/** Age from which faults that were not reported no longer matter. */
const FORGOTTEN_MS = 10 * MINUTE_MS;
const MAX_NAMES = 1_000;

/** The faults of one host or connection in the present window. */
interface Window {
  /** Time of the first fault of the window, in Unix milliseconds. */
  readonly startedAt: number;
  readonly count: number;
  /** Number of faults that have not been reported, at most `REPORTED_EARLY`. */
  readonly unreported: number;
}

/**
 * Collects the faults that this isolate meets at a host or a connection, so that a fault of thousands of
 * tasks does not cause as many calls of the one object that counts them: the first of ten seconds is
 * reported at once, the others together with the tenth or with the first after that time.
 */
export class FaultNotes {
  readonly #windows: Map<string, Window> = new QuickLRU({ maxSize: MAX_NAMES });

  /**
   * Counts a fault.
   * @param now current time, in Unix milliseconds.
   * @returns the number of faults to report now; 0 for none.
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
