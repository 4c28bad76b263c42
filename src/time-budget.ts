/**
 * Limits the duration of a loop, and optionally the number of its rounds: once either is spent, the loop
 * starts no further round; it ends the round that it is in.
 */
export class TimeBudget {
  readonly #endsAt: number;
  #rounds: number;

  /**
   * Begins to measure the time.
   * @param ms time in milliseconds after which no further round may start.
   * @param maxRounds largest number of rounds that `startRound` allows.
   */
  constructor(ms: number, maxRounds = Infinity) {
    this.#endsAt = Date.now() + ms;
    this.#rounds = maxRounds;
  }

  isSpent(): boolean {
    return Date.now() >= this.#endsAt;
  }

  /** Tells whether the loop may start one more round, and counts that round. */
  startRound(): boolean {
    if (this.isSpent() || this.#rounds === 0) return false;
    this.#rounds -= 1;
    return true;
  }
}
