import { isolateCache } from "../../lib/isolate-cache.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

const WINDOW_MS = 10 * SECOND_MS;
/**
 * Number of faults of one receiver's host or one connection within ten seconds at which the collected faults are
 * reported at once, and not only after the ten seconds. They are reported to the Durable Object that counts the faults
 * of that host or connection.
 */
const REPORTED_EARLY = 10;
/**
 * Time in milliseconds after which collected faults that were not reported are dropped. It is counted from the first of
 * these faults.
 */
const FORGOTTEN_MS = 10 * MINUTE_MS;
const MAX_NAMES = 1_000;

/**
 * The faults (failed attempts or refused API keys) that this isolate has met at one receiver's host or one connection
 * in ten seconds, beginning with the first fault.
 */
interface Window {
  /** Time of the first fault, at which the ten seconds begin, in Unix milliseconds. */
  readonly startedAt: number;
  readonly count: number;
  /**
   * Number of faults that were not reported yet to the Durable Object that counts the faults of this host or
   * connection. It does not rise above `REPORTED_EARLY`; further faults are never reported.
   */
  readonly unreported: number;
}

/**
 * Collects the faults that this isolate meets at receivers' hosts and at connections. They are reported to the Durable
 * Object of the host or connection in few calls, even when thousands of tasks meet the same fault. The first fault is
 * reported at once. The faults of the next ten seconds are reported together, with the tenth fault or, when there are
 * fewer, with the first fault after the ten seconds.
 */
export class FaultNotes {
  readonly #windows = isolateCache<Window>(MAX_NAMES, Infinity);

  /**
   * Counts one fault of a host or a connection.
   * @param now current time, in Unix milliseconds.
   * @returns the number of faults that the caller must report now; 0 when it must report none.
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
