/**
 * Limits the duration of a loop: once the time has passed, the loop starts no further round; it ends the
 * round that it is in.
 */
export class TimeBudget {
  readonly #endsAt: number;

  /** Starts the budget now. @param ms its length in milliseconds. */
  constructor(ms: number) {
    this.#endsAt = Date.now() + ms;
  }

  isSpent(): boolean {
    return Date.now() >= this.#endsAt;
  }
}
