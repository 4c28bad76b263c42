import type { ChargeAnswer } from "../core/events/event.ts";

const MAX_KEPT = 1_000;

/**
 * Remembers refused charges. They stay refused even after a grant, because their task has been erased while
 * another call of the same charge may still be on its way. They are kept in memory only: an account object
 * that restarts within the time that a call may take forgets them.
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
