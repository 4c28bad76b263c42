/** A stream of numbers that its seed alone decides (mulberry32, public domain). */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not give neighbouring lives.
    this.#state = Math.imul(seed ^ (seed >>> 16), 0x45d9f3b) >>> 0;
  }

  /** At least 0, less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0, less than `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  isLucky(probability: number): boolean {
    return this.next() < probability;
  }

  /** @throws when there is nothing to choose from. */
  pick<T>(choices: readonly T[]): T {
    for (const chosen of choices.slice(this.below(choices.length))) return chosen;
    throw new Error("nothing to choose from");
  }

  /** One of the choices, each as often as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error("nothing to choose from");
  }
}
