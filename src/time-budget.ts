/**
 * Limits the duration of a loop: once the time has passed, the loop starts no further round; it ends the
 * round that it is in.
 */
export class TimeBudget {
  readonly #endsAt: number;

  /** Begins to measure the time. @param ms time in milliseconds after which no further round may start. */
  constructor(ms: number) {
    this.#endsAt = Date.now() + ms;
  }

  isSpent(): boolean {
    return Date.now() >= this.#endsAt;
  }
}
