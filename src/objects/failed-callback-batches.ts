import { SECOND_MS } from "../core/time.ts";
import { isolateCache } from "../lib/isolate-cache.ts";

// Failed callbacks, gathered for the operator's digest. api/callbacks/bulk-redelivery.ts sends failed callbacks again.

/**
 * Time in milliseconds for which further failed callbacks to a host are collected after the first report about the
 * host, to be reported together. This time plus the time of the reporting call is less than the time that a notice to
 * the operator may take (core/duties/operator-notice-send.ts).
 */
const WINDOW_MS = 3 * SECOND_MS;
/** Largest number of ids of tasks in one report of failed callbacks. */
const MAX_IDS = 100;
const MAX_HOSTS = 1_000;

/** Tasks whose callbacks to one host have failed for good. */
export interface FailedCallbacks {
  readonly failed: number;
  /** Ids of the first 100 tasks whose callbacks to the host have failed for good. */
  readonly tasks: readonly string[];
}

interface Window {
  /**
   * Time of the first failed callback to the host, in Unix milliseconds. This callback was reported at once; the three
   * seconds in which further ones are collected begin at this time.
   */
  readonly startedAt: number;
  /**
   * True when one task is going to report all further failed callbacks together, after the three seconds in which they
   * are collected.
   */
  readonly hasReporter: boolean;
}

/**
 * Collects, in this isolate, the tasks whose callbacks to a host have failed for good. The Durable Object that collects
 * them for the operator (digest) thus gets them in few calls: the first task at once, and all tasks of the next three
 * seconds together in a second call. The task that makes the second call repeats it until it succeeds; the other tasks
 * have nothing left to do. If the platform ends the isolate before the second call has succeeded, the tasks of this
 * call are missing in the operator's event.
 */
export class FailedCallbackBatches {
  readonly #windows = isolateCache<Window>(MAX_HOSTS, Infinity);
  readonly #batches = new Map<string, FailedCallbacks>();

  /**
   * Adds a task to the collected tasks of a host.
   * @param now current time, in Unix milliseconds.
   * @returns the time in milliseconds after which the caller must report the collected tasks; null when another task
   * reports them.
   */
  add(host: string, taskId: string, now: number): number | null {
    this.#merge(host, { failed: 1, tasks: [taskId] });
    const window = this.#windows.get(host);
    const ageMs = window === undefined ? Infinity : Math.abs(now - window.startedAt);
    if (window === undefined || ageMs >= WINDOW_MS) {
      this.#windows.set(host, { startedAt: now, hasReporter: false });
      return 0;
    }
    if (window.hasReporter) return null;
    this.#windows.set(host, { ...window, hasReporter: true });
    return WINDOW_MS - ageMs;
  }

  /**
   * Removes and returns the collected tasks of a host, so that the caller can report them. Null when they were reported
   * already.
   */
  take(host: string): FailedCallbacks | null {
    const batch = this.#batches.get(host) ?? null;
    this.#batches.delete(host);
    return batch;
  }

  /**
   * Puts the tasks of a failed report back, so that the next report about their host contains them.
   * @param taskId id of the task that made the failed report. This id is left out, because the task adds itself again
   * when it repeats its notice.
   */
  putBack(host: string, { failed, tasks }: FailedCallbacks, taskId: string): void {
    const others = tasks.filter((id) => id !== taskId);
    const left = failed - (tasks.length - others.length);
    if (left > 0) this.#merge(host, { failed: left, tasks: others });
  }

  #merge(host: string, added: FailedCallbacks): void {
    const known = this.#batches.get(host) ?? { failed: 0, tasks: [] };
    this.#batches.set(host, merged(known, added));
  }
}

/** Returns two groups of failed callbacks as one group. A task whose id is in both groups is counted once. */
export function merged(known: FailedCallbacks, added: FailedCallbacks): FailedCallbacks {
  const fresh = added.tasks.filter((id) => !known.tasks.includes(id));
  const failed = known.failed + added.failed - (added.tasks.length - fresh.length);
  return { failed, tasks: [...known.tasks, ...fresh].slice(0, MAX_IDS) };
}
