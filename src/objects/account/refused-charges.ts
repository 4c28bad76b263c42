import type { ChargeAnswer } from "../../core/events/event.ts";

const MAX_KEPT = 1_000;

/**
 * Remembers the last 1,000 refused charges, so that a repeated charge is refused even after a grant. This is needed
 * because the task of a refused charge has been erased, while another call for the same charge may still arrive.
 * The refusals are only in memory. An account object that restarts forgets them, and may then book such a late
 * call.
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
