/**
 * Limits the duration of a loop, and optionally the number of its queries. Once the time is over or too few queries are
 * left, the loop starts no further round, but still ends the present one.
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
   * Tells whether this number of further queries may be made and, if so, counts them. Each statement of a batch is one
   * query.
   */
  take(queries: number): boolean {
    if (!this.has(queries)) return false;
    this.#queries += queries;
    return true;
  }

  /** Tells whether this number of further queries may be made, without counting them. */
  has(queries: number): boolean {
    return !this.isSpent() && this.#queries + queries <= this.#maxQueries;
  }
}
