/**
 * Where the choices of one case come from: a sequence of numbers from 0 up to 1. The smaller a number,
 * the plainer the choice, so that a failing case can be made smaller by making its numbers smaller.
 */
export class Choices {
  /** What was drawn, where that is kept. */
  readonly drawn: number[] = [];
  #state: number;
  readonly #script: readonly number[] | null;
  readonly #isKept: boolean;
  #at = 0;

  private constructor(state: number, script: readonly number[] | null, isKept: boolean) {
    this.#state = state;
    this.#script = script;
    this.#isKept = isKept;
  }

  /** The same choices for the same seed and case. */
  static ofCase(seed: number, number: number, isKept = false): Choices {
    return new Choices((seed ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0, null, isKept);
  }

  /** What `drawn` said, and the plainest choices after it. */
  static again(drawn: readonly number[]): Choices {
    return new Choices(0, drawn, false);
  }

  below(limit: number): number {
    return Math.floor(this.#draw() * limit);
  }

  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True in so large a share of the cases. */
  chance(share: number): boolean {
    return this.#draw() >= 1 - share;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  }

  // mulberry32
  #draw(): number {
    if (this.#script !== null) return this.#script[this.#at++] ?? 0;
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    const number = ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
    if (this.#isKept) this.drawn.push(number);
    return number;
  }
}
