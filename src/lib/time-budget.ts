/**
 * Limits the duration of a loop, and optionally the number of its queries: once the time is over or too few
 * queries are left, the loop starts no further round; it ends the round that it is in.
 */
export class TimeBudget {
  readonly #endsAt: number;
  readonly #maxQueries: number;
  #queries = 0;

  /**
   * Begins to measure the time.
   * @param ms time in milliseconds after which no further round may start.
   * @param maxQueries largest number of queries that `take` allows.
   */
  constructor(ms: number, maxQueries = Infinity) {
    this.#endsAt = Date.now() + ms;
    this.#maxQueries = maxQueries;
  }

  /** Number of queries that the budget has allowed so far. */
  get queries(): number {
    return this.#queries;
  }

  isSpent(): boolean {
    return Date.now() >= this.#endsAt;
  }

  /**
   * Tells whether so many further queries may be made, and counts them. The statements of a batch are
   * queries of their own.
   */
  take(queries: number): boolean {
    if (!this.has(queries)) return false;
    this.#queries += queries;
    return true;
  }

  /** Tells whether so many further queries may be made, without counting them. */
  has(queries: number): boolean {
    return !this.isSpent() && this.#queries + queries <= this.#maxQueries;
  }
}
