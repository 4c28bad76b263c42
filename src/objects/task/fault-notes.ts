import { isolateCache } from "../../lib/isolate-cache.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

const WINDOW_MS = 10 * SECOND_MS;
/**
 * Number of faults, within ten seconds, of one receiver's host or one connection at which the collected faults are
 * reported before the ten seconds are over. They are reported to the Durable Object that counts the faults of that
 * host or connection.
 */
const REPORTED_EARLY = 10;
/**
 * Time in milliseconds after which faults that were not reported are dropped. It is counted from the first fault of
 * their ten seconds.
 */
const FORGOTTEN_MS = 10 * MINUTE_MS;
const MAX_NAMES = 1_000;

/**
 * The faults (failed attempts or refused API keys) of one receiver's host or one connection within the ten seconds
 * from the first of these faults.
 */
interface Window {
  /** Time of the first of these faults, at which the ten seconds begin, in Unix milliseconds. */
  readonly startedAt: number;
  readonly count: number;
  /**
   * Number of faults that were not reported yet to the Durable Object that counts the faults of this host or
   * connection. It does not rise above `REPORTED_EARLY`; further faults are never reported.
   */
  readonly unreported: number;
}

/**
 * Collects the faults that this isolate meets at receivers' hosts and at connections. It has them reported in few
 * calls to the Durable Object of the host or connection, even when thousands of tasks meet the same fault. The
 * first fault is reported at once. The faults of the next ten seconds are reported together with the tenth fault
 * or, when there are fewer, with the first fault after the ten seconds.
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
