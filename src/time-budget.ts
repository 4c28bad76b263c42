/**
 * Limits the duration of a loop: no further round is started once the time is spent. A round that is under
 * way is not interrupted.
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
