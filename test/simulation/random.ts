/** Returns a generator like `Math.random` whose sequence depends on the seed (mulberry32, public domain). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Random choices that depend on the seed alone. */
export class Random {
  /** Returns a number from 0 up to, not including, 1. */
  readonly next: () => number;

  constructor(seed: number) {
    // Without this mixing, neighbouring seeds would give similar runs.
    this.next = seeded(Math.imul(seed ^ (seed >>> 16), 0x45d9f3b));
  }

  /** Returns a whole number from 0 up to, not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  isLucky(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns one of the items. @throws when there is none. */
  pick<T>(choices: readonly T[]): T {
    for (const chosen of choices.slice(this.below(choices.length))) return chosen;
    throw new Error("nothing to choose from");
  }

  /** Returns one of the choices, each with a probability in proportion to its weight. @throws when there is none. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error("nothing to choose from");
  }
}
