/** How long submissions have waited for their places, in milliseconds. */
export interface WaitTimes {
  /** Half of the waits were not longer. */
  readonly p50: number;
  /** 99 % of the waits were not longer. */
  readonly p99: number;
}

/** Number of grants whose waits are remembered. */
const MOST = 1_000;

/**
 * The waits of the latest grants. They are in memory only: after the object has left memory, which it does seconds after
 * its last call, only those of the submissions that have a place are known.
 */
export class RecentWaits {
  readonly #waitsMs: number[] = [];
  #next = 0;

  add(waitMs: number): void {
    this.#waitsMs[this.#next] = Math.max(waitMs, 0);
    this.#next = (this.#next + 1) % MOST;
  }

  /** Returns the quantiles of the waits. Null when no place was granted. */
  times(): WaitTimes | null {
    const sorted = this.#waitsMs.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1];
    const [p50, p99] = [at(0.5), at(0.99)];
    return p50 === undefined || p99 === undefined ? null : { p50, p99 };
  }
}
