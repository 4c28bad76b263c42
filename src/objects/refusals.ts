import type { ChargeAnswer } from "../core/event.ts";

interface Refusal {
  readonly answer: ChargeAnswer;
  /** Unix milliseconds. */
  readonly until: number;
}

/**
 * Charges that were refused a moment ago. The task of such a charge is gone, so a call of it that was
 * on its way for longer stays refused, whatever was granted meanwhile. In memory: a call does not
 * outlive the object that it was made to.
 */
export class Refusals {
  readonly #known = new Map<string, Refusal>();

  /** @param until Unix milliseconds; no earlier call of this charge is booked after it. */
  note(reference: string, answer: ChargeAnswer, until: number, now: number): ChargeAnswer {
    for (const [known, refusal] of this.#known) if (refusal.until < now) this.#known.delete(known);
    this.#known.set(reference, { answer, until });
    return answer;
  }

  of(reference: string, now: number): ChargeAnswer | null {
    const refusal = this.#known.get(reference);
    return refusal !== undefined && now <= refusal.until ? refusal.answer : null;
  }
}
