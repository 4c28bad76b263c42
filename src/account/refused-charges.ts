import type { ChargeAnswer } from "../core/events/event.ts";

const MAX_KEPT = 1_000;

/**
 * Charges that were refused: they stay so, whatever is granted later. The task of such a charge is gone,
 * and a call of it may still be on its way. In memory alone: an account that restarts within the two
 * seconds that a call may take has forgotten them.
 */
export class RefusedCharges {
  readonly #answers = new Map<string, ChargeAnswer>();

  note(reference: string, answer: ChargeAnswer): ChargeAnswer {
    this.#answers.set(reference, answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MAX_KEPT && oldest !== undefined) this.#answers.delete(oldest);
    return answer;
  }

  of(reference: string): ChargeAnswer | null {
    return this.#answers.get(reference) ?? null;
  }
}
